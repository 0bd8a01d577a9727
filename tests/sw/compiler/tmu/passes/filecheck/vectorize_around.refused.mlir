// Lanes that come, with the inner loop, to where others have been: the last sum to be stored at an
// element would be another one.

// CHECK-NOT: vector
func.func @f(%x: memref<5xf32>, %out: memref<14xf32>) attributes {names = "x,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %five = arith.constant 5 : i32
  %nine = arith.constant 9 : i32
  %nothing = arith.constant 0.0 : f32
  scf.for %i = %zero to %nine step %one : i32 {
    "slc.set"(%nothing) <{variable = "total"}> : (f32) -> ()
    scf.for %k = %zero to %five step %one : i32 {
      %inner = arith.index_cast %k : i32 to index
      %value = memref.load %x[%inner] : memref<5xf32>
      %total = "slc.get"() <{variable = "total"}> : () -> f32
      %more = arith.addf %total, %value : f32
      "slc.set"(%more) <{variable = "total"}> : (f32) -> ()
      %place = arith.addi %i, %k : i32
      %at = arith.index_cast %place : i32 to index
      memref.store %more, %out[%at] : memref<14xf32>
      scf.yield
    }
    scf.yield
  }
  func.return
}
