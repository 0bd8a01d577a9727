// The last vector has two lanes: only these are loaded and stored, when the row changes and behind
// the loop.

// CHECK: "slc.toggle"
// CHECK: vector.store {{.*}} %out
// CHECK: arith.constant 2 : index
// CHECK-NEXT: %[[MASK:.*]] = vector.create_mask
// CHECK-NEXT: vector.maskedstore %out[{{.*}}], %[[MASK]]
// CHECK: vector.load %out
// CHECK: "slc.set"({{.*}}) <{variable = "out_0"}>
// CHECK: %[[PART:.*]] = vector.maskedload %out
// CHECK-NEXT: "slc.set"(%[[PART]]) <{variable = "out_1"}>
// CHECK: "slc.callback"() ({
// CHECK-NOT: %out
// CHECK: "slc.set"({{.*}}) <{variable = "out_1"}>
// CHECK-NOT: %out
// CHECK: }) : (i32, i32) -> ()
// CHECK-NEXT: "slc.callback"() ({
// CHECK: vector.maskedstore %out
builtin.module {
  func.func @f(%row: memref<5xi32>, %x: memref<5x6xf32>, %out: memref<3x6xf32>) attributes {names = "row,x,out"} {
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    %four = arith.constant 4 : i32
    %six = arith.constant 6 : i32
    "slc.for"(%zero, %five) <{step = 1 : i64}> ({
    ^bb0(%p: !slc.stream<i32>):
      %r = "slc.mem_str"(%row, %p) : (memref<5xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.push"(%r) <{aligned}> : (!slc.stream<i32>) -> ()
      "slc.for"(%zero, %six) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        %7 = "slc.mem_str"(%x, %p, %e) : (memref<5x6xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
        "slc.push"(%7) : (!slc.stream<vector<4xf32>>) -> ()
      }) : (i32, i32) -> ()
      "slc.callback"() ({
        %8 = "slc.pop"() : () -> vector<4xi32>
        %9 = vector.extract %8[0] : i32 from vector<4xi32>
        %12 = arith.constant 0 : i32
        %13 = arith.constant 4 : i32
        scf.for %15 = %12 to %13 step %13 : i32 {
          %16 = "slc.pop"() : () -> vector<4xf32>
          %17 = arith.index_cast %9 : i32 to index
          %18 = arith.index_cast %15 : i32 to index
          %19 = vector.load %out[%17, %18] : memref<3x6xf32>, vector<4xf32>
          %22 = arith.addf %19, %16 : vector<4xf32>
          vector.store %22, %out[%17, %18] : memref<3x6xf32>, vector<4xf32>
        }
        %two = arith.constant 2 : index
        %mask = vector.create_mask %two : vector<4xi1>
        %rest = arith.constant dense<0.0> : vector<4xf32>
        %end = arith.constant 6 : i32
        scf.for %25 = %13 to %end step %13 : i32 {
          %26 = "slc.pop"() : () -> vector<4xf32>
          %27 = arith.index_cast %9 : i32 to index
          %28 = arith.index_cast %25 : i32 to index
          %29 = vector.maskedload %out[%27, %28], %mask, %rest : memref<3x6xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
          %30 = arith.addf %29, %26 : vector<4xf32>
          vector.maskedstore %out[%27, %28], %mask, %30 : memref<3x6xf32>, vector<4xi1>, vector<4xf32>
        }
      }) : () -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
