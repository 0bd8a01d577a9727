// A toggle comes before all that an iteration queues: it cannot be of a stream behind that.

// CHECK-NOT: slc.toggle
// CHECK: variable = "a"
// CHECK: "slc.push"({{.*}}) <{aligned}>
// CHECK: arith.cmpi ne
// CHECK-NOT: slc.toggle
builtin.module {
  func.func @f(%row: memref<5xi32>, %x: memref<5x4xf32>, %out: memref<3x4xf32>) attributes {names = "row,x,out"} {
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    %four = arith.constant 4 : i32
    "slc.for"(%zero, %five) <{step = 1 : i64}> ({
    ^bb0(%p: !slc.stream<i32>):
      "slc.callback"() ({
        %two = arith.constant 2 : i32
        "slc.set"(%two) <{variable = "a"}> : (i32) -> ()
      }) : () -> ()
      %r = "slc.mem_str"(%row, %p) : (memref<5xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.push"(%r) <{aligned}> : (!slc.stream<i32>) -> ()
      "slc.for"(%zero, %four) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        %7 = "slc.mem_str"(%x, %p, %e) : (memref<5x4xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
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
          %19 = vector.load %out[%17, %18] : memref<3x4xf32>, vector<4xf32>
          %22 = arith.addf %19, %16 : vector<4xf32>
          vector.store %22, %out[%17, %18] : memref<3x4xf32>, vector<4xf32>
        }
      }) : () -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
