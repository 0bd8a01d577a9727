// A row that the callback has not taken from the queue may be another one than the fiber's.

// CHECK: "slc.for"
// CHECK: "slc.for"(%{{.*}}, %{{.*}}) <{step = 1 : i64, vector = 4 : i64}> ({
// CHECK-NOT: "slc.for"
// CHECK: "slc.callback"() ({
// CHECK: vector.load %x
// CHECK-NOT: "slc.pop"
builtin.module {
  func.func @f(%n: memref<5xi32>, %x: memref<9x4xf32>) attributes {names = "n,x"} {
    %zero = arith.constant 0 : i32
    %four = arith.constant 4 : i32
    %five = arith.constant 5 : i32
    "slc.for"(%zero, %five) <{step = 1 : i64}> ({
    ^bb0(%p: !slc.stream<i32>):
      %row = "slc.mem_str"(%n, %p) : (memref<5xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.for"(%zero, %four) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        %0 = "slc.mem_str"(%x, %row, %e) : (memref<9x4xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
        "slc.push"(%0) : (!slc.stream<vector<4xf32>>) -> ()
      }) : (i32, i32) -> ()
      "slc.callback"() ({
        %1 = "slc.pop"() : () -> vector<4xf32>
        "slc.set"(%1) <{variable = "seen"}> : (vector<4xf32>) -> ()
        %2 = "slc.get"() <{variable = "rows"}> : () -> vector<4xi32>
        %3 = vector.extract %2[0] : i32 from vector<4xi32>
        %4 = arith.index_cast %3 : i32 to index
        %5 = arith.constant 0 : index
        %6 = vector.load %x[%4, %5] : memref<9x4xf32>, vector<4xf32>
        "slc.set"(%6) <{variable = "seen"}> : (vector<4xf32>) -> ()
      }) : () -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
