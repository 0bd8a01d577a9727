// What the next callback loads of the fiber is queued again; the callbacks are one. The index that
// was queued for the loads is not, the other word comes first.

// CHECK: ^bb0(%p: !slc.stream<i32>):
// CHECK: "slc.push"(%{{.*}}) <{aligned}> : (!slc.stream<f32>) -> ()
// CHECK-NOT: "slc.push"
// CHECK: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK-NEXT: "slc.for"(%{{.*}}, %[[TWO]]) <{step = 1 : i64}> ({
// CHECK: "slc.for"(%{{.*}}, %{{.*}}) <{step = 1 : i64, vector = 4 : i64}> ({
// CHECK: "slc.push"(%{{.*}}) : (!slc.stream<vector<4xf32>>) -> ()
// CHECK-NOT: "slc.push"
// CHECK: "slc.callback"() ({
// CHECK-NEXT: %[[WORD:.*]] = "slc.pop"()
// CHECK-NEXT: vector.extract %[[WORD]][0]
// CHECK: %[[FIRST:.*]] = "slc.pop"()
// CHECK: "slc.set"(%[[FIRST]]) <{variable = "seen"}>
// CHECK: %[[SECOND:.*]] = "slc.pop"()
// CHECK: "slc.set"(%[[SECOND]]) <{variable = "seen"}>
// CHECK: %[[THIRD:.*]] = "slc.pop"()
// CHECK-NEXT: "slc.set"(%[[THIRD]]) <{variable = "seen"}>
// CHECK: %[[FOURTH:.*]] = "slc.pop"()
// CHECK-NEXT: %[[KEPT:.*]] = "slc.blend"(%{{.*}}, %[[FOURTH]],
// CHECK-NEXT: "slc.set"(%[[KEPT]]) <{variable = "seen"}>
// CHECK-NOT: "slc.callback"
builtin.module {
  func.func @f(%n: memref<5xi32>, %w: memref<5xf32>, %x: memref<9x6xf32>) attributes {names = "n,w,x"} {
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    %six = arith.constant 6 : i32
    "slc.for"(%zero, %five) <{step = 1 : i64}> ({
    ^bb0(%p: !slc.stream<i32>):
      %row = "slc.mem_str"(%n, %p) : (memref<5xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.for"(%zero, %six) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        %0 = "slc.mem_str"(%x, %row, %e) : (memref<9x6xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
        "slc.push"(%0) : (!slc.stream<vector<4xf32>>) -> ()
      }) : (i32, i32) -> ()
      "slc.callback"() ({
        %1 = arith.constant 0 : i32
        %2 = arith.constant 8 : i32
        %3 = arith.constant 4 : i32
        scf.for %4 = %1 to %2 step %3 : i32 {
          %5 = "slc.pop"() : () -> vector<4xf32>
          "slc.set"(%5) <{variable = "seen"}> : (vector<4xf32>) -> ()
        }
      }) : () -> ()
      %word = "slc.mem_str"(%w, %p) : (memref<5xf32>, !slc.stream<i32>) -> !slc.stream<f32>
      "slc.push"(%word) <{aligned}> : (!slc.stream<f32>) -> ()
      "slc.push"(%row) <{aligned}> : (!slc.stream<i32>) -> ()
      "slc.callback"() ({
        %6 = "slc.pop"() : () -> vector<4xf32>
        %7 = vector.extract %6[0] : f32 from vector<4xf32>
        %8 = "slc.pop"() : () -> vector<4xi32>
        %9 = vector.extract %8[0] : i32 from vector<4xi32>
        "slc.set"(%7) <{variable = "word"}> : (f32) -> ()
        %10 = arith.index_cast %9 : i32 to index
        %11 = arith.constant 0 : i32
        %12 = arith.index_cast %11 : i32 to index
        %13 = vector.load %x[%10, %12] : memref<9x6xf32>, vector<4xf32>
        "slc.set"(%13) <{variable = "seen"}> : (vector<4xf32>) -> ()
        %14 = arith.constant 4 : index
        %15 = arith.constant 2 : index
        %16 = vector.create_mask %15 : vector<4xi1>
        %17 = arith.constant dense<0.0> : vector<4xf32>
        %18 = vector.maskedload %x[%10, %14], %16, %17 : memref<9x6xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
        "slc.set"(%18) <{variable = "seen"}> : (vector<4xf32>) -> ()
      }) : () -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
