// A line of 16 words each of the next row is fetched; of the row at 2, which is the same in all
// iterations, and of what is written, nothing.

// CHECK: "slc.set"
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
// CHECK-NEXT: %[[WORD:.*]] = arith.constant 0 : i32
// CHECK-NEXT: "flat.fetch"(%x, %[[NEXT]], %[[WORD]])
// CHECK-NEXT: %[[OTHER:.*]] = arith.constant 16 : i32
// CHECK-NEXT: "flat.fetch"(%x, %[[NEXT]], %[[OTHER]])
// CHECK-NOT: "flat.fetch"
builtin.module {
  func.func @f(%x: memref<9x32xf32>, %y: memref<9x32xf32>, %out: memref<9x32xf32>) attributes {names = "x,y,out"} {
    %zero = arith.constant 0 : i32
    %nine = arith.constant 9 : i32
    "slc.for"(%zero, %nine) <{step = 1 : i64}> ({
    ^bb0(%p: !slc.stream<i32>):
      "slc.callback"() ({
        %0 = "slc.get"() <{variable = "counter_0"}> : () -> i32
        %1 = arith.index_cast %0 : i32 to index
        %2 = arith.constant 0 : index
        %3 = arith.constant 8 : index
        %4 = arith.constant 16 : index
        %5 = vector.load %x[%1, %2] : memref<9x32xf32>, vector<4xf32>
        %6 = vector.load %x[%1, %3] : memref<9x32xf32>, vector<4xf32>
        %7 = vector.load %x[%1, %4] : memref<9x32xf32>, vector<4xf32>
        %8 = vector.load %out[%1, %4] : memref<9x32xf32>, vector<4xf32>
        %9 = arith.constant 2 : index
        %10 = vector.load %y[%9, %4] : memref<9x32xf32>, vector<4xf32>
        vector.store %10, %out[%1, %2] : memref<9x32xf32>, vector<4xf32>
        %11 = arith.constant 1 : i32
        %12 = arith.addi %0, %11 : i32
        "slc.set"(%12) <{variable = "counter_0"}> : (i32) -> ()
      }) : () -> ()
    }) {counter = "counter_0"} : (i32, i32) -> ()
    func.return
  }
}
