// Behind where the variable is set that counts the fiber's row, it is another row's number.

// CHECK: "slc.for"
// CHECK: "slc.for"(%{{.*}}, %{{.*}}) <{step = 1 : i64, vector = 4 : i64}> ({
// CHECK-NOT: "slc.for"
// CHECK: "slc.callback"() ({
// CHECK: vector.load %x
// CHECK-NOT: "slc.pop"
builtin.module {
  func.func @f(%x: memref<6x4xf32>) attributes {names = "x"} {
    %zero = arith.constant 0 : i32
    %four = arith.constant 4 : i32
    %five = arith.constant 5 : i32
    "slc.for"(%zero, %five) <{step = 1 : i64}> ({
    ^bb0(%p: !slc.stream<i32>):
      "slc.for"(%zero, %four) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        %0 = "slc.mem_str"(%x, %p, %e) : (memref<6x4xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
        "slc.push"(%0) : (!slc.stream<vector<4xf32>>) -> ()
      }) : (i32, i32) -> ()
      "slc.callback"() ({
        %1 = "slc.pop"() : () -> vector<4xf32>
        "slc.set"(%1) <{variable = "seen"}> : (vector<4xf32>) -> ()
        %2 = "slc.get"() <{variable = "0_counter"}> : () -> i32
        %3 = arith.constant 1 : i32
        %4 = arith.addi %2, %3 : i32
        "slc.set"(%4) <{variable = "0_counter"}> : (i32) -> ()
        %5 = "slc.get"() <{variable = "0_counter"}> : () -> i32
        %6 = arith.index_cast %5 : i32 to index
        %7 = arith.constant 0 : index
        %8 = vector.load %x[%6, %7] : memref<6x4xf32>, vector<4xf32>
        "slc.set"(%8) <{variable = "seen"}> : (vector<4xf32>) -> ()
      }) : () -> ()
    }) {counter = "0_counter"} : (i32, i32) -> ()
    func.return
  }
}
