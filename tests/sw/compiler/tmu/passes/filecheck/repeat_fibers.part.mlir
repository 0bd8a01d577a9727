// Three loads are one fiber of two vectors, and a part of one.

// CHECK: "slc.for"
// CHECK: "slc.for"(%{{.*}}, %{{.*}}) <{step = 1 : i64, vector = 4 : i64}> ({
// CHECK-NOT: "slc.for"
// CHECK: "slc.callback"() ({
// CHECK: vector.load %x
// CHECK-NOT: "slc.pop"
builtin.module {
  func.func @f(%x: memref<5x8xf32>) attributes {names = "x"} {
    %zero = arith.constant 0 : i32
    %end = arith.constant 8 : i32
    %five = arith.constant 5 : i32
    "slc.for"(%zero, %five) <{step = 1 : i64}> ({
    ^bb0(%p: !slc.stream<i32>):
      "slc.for"(%zero, %end) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        %0 = "slc.mem_str"(%x, %p, %e) : (memref<5x8xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
        "slc.push"(%0) : (!slc.stream<vector<4xf32>>) -> ()
      }) : (i32, i32) -> ()
      "slc.callback"() ({
        %1 = "slc.pop"() : () -> vector<4xf32>
        "slc.set"(%1) <{variable = "first"}> : (vector<4xf32>) -> ()
        %2 = "slc.pop"() : () -> vector<4xf32>
        "slc.set"(%2) <{variable = "second"}> : (vector<4xf32>) -> ()
        %3 = "slc.get"() <{variable = "0_counter"}> : () -> i32
        %4 = arith.index_cast %3 : i32 to index
        %5 = arith.constant 0 : index
        %6 = vector.load %x[%4, %5] : memref<5x8xf32>, vector<4xf32>
        "slc.set"(%6) <{variable = "seen"}> : (vector<4xf32>) -> ()
        %7 = arith.constant 4 : index
        %8 = vector.load %x[%4, %7] : memref<5x8xf32>, vector<4xf32>
        "slc.set"(%8) <{variable = "seen"}> : (vector<4xf32>) -> ()
        %9 = arith.constant 0 : index
        %10 = vector.load %x[%4, %9] : memref<5x8xf32>, vector<4xf32>
        "slc.set"(%10) <{variable = "seen"}> : (vector<4xf32>) -> ()
      }) : () -> ()
    }) {counter = "0_counter"} : (i32, i32) -> ()
    func.return
  }
}
