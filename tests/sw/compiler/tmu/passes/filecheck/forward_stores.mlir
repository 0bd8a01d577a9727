// Sums that one callback stores, and the next one divides, are divided in registers. A loop that
// stores to another array stays one.

// CHECK: "slc.push"
// CHECK-NEXT: "slc.callback"() ({
// CHECK: %[[SUM:.*]] = "slc.get"() <{variable = "sum"}>
// CHECK-NOT: vector.load
// CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]],
// CHECK-NEXT: vector.store %[[MEAN]], %out
// CHECK: scf.for
// CHECK-NEXT: arith.index_cast
// CHECK-NEXT: vector.store {{.*}}, %other
// CHECK-NOT: vector.store
// CHECK: "slc.set"({{.*}}) <{variable = "sum"}>
// CHECK-NEXT: "slc.set"({{.*}}) <{variable = "row"}>
// CHECK-NEXT: }) : () -> ()
// CHECK-NEXT: }) : (i32, i32) -> ()
builtin.module {
  func.func @f(%n: memref<5xi32>, %out: memref<5x4xf32>, %other: memref<8xf32>) attributes {names = "n,out,other"} {
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    "slc.for"(%zero, %five) <{step = 1 : i64}> ({
    ^bb0(%b: !slc.stream<i32>):
      %s = "slc.mem_str"(%n, %b) : (memref<5xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.callback"() ({
        %0 = "slc.get"() <{variable = "row"}> : () -> i32
        %1 = "slc.get"() <{variable = "sum"}> : () -> vector<4xf32>
        %2 = arith.constant 0 : i32
        %3 = arith.index_cast %0 : i32 to index
        %4 = arith.index_cast %2 : i32 to index
        vector.store %1, %out[%3, %4] : memref<5x4xf32>, vector<4xf32>
        %5 = arith.constant dense<0.0> : vector<4xf32>
        "slc.set"(%5) <{variable = "sum"}> : (vector<4xf32>) -> ()
      }) : () -> ()
      %one = arith.constant 1 : i32
      "slc.push"(%s) <{aligned}> : (!slc.stream<i32>) -> ()
      "slc.callback"() ({
        %6 = "slc.pop"() : () -> vector<4xi32>
        %7 = vector.extract %6[0] : i32 from vector<4xi32>
        %8 = arith.sitofp %7 : i32 to f32
        %9 = "slc.get"() <{variable = "row"}> : () -> i32
        %10 = arith.index_cast %9 : i32 to index
        %11 = arith.constant 0 : i32
        %12 = arith.constant 4 : i32
        scf.for %13 = %11 to %12 step %12 : i32 {
          %14 = arith.index_cast %13 : i32 to index
          %15 = vector.load %out[%10, %14] : memref<5x4xf32>, vector<4xf32>
          %16 = vector.broadcast %8 : f32 to vector<4xf32>
          %17 = arith.divf %15, %16 : vector<4xf32>
          vector.store %17, %out[%10, %14] : memref<5x4xf32>, vector<4xf32>
        }
        %eight = arith.constant 8 : i32
        %ones = arith.constant dense<1.0> : vector<4xf32>
        scf.for %e = %11 to %eight step %12 : i32 {
          %at = arith.index_cast %e : i32 to index
          vector.store %ones, %other[%at] : memref<8xf32>, vector<4xf32>
        }
        %18 = arith.constant 1 : i32
        %19 = arith.addi %9, %18 : i32
        "slc.set"(%19) <{variable = "row"}> : (i32) -> ()
      }) : () -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
