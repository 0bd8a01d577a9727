// Row-major words; what an outer loop gives is summed outside of the inner one.

// CHECK: scf.for %a
// CHECK: [[ROW:%.*]] = arith.muli %a
// CHECK: scf.for %b
// CHECK: [[WORD:%.*]] = arith.addi [[ROW]], %b
// CHECK: "flat.load"([[WORD]]) <{array = "x", offset = 1 : i64
func.func @f(%x: memref<3x5xf32>, %out: memref<5xf32>) attributes {names = "x,out"} {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  scf.for %a = %zero to %three step %one : i32 {
    scf.for %b = %zero to %three step %one : i32 {
      %row = arith.index_cast %a : i32 to index
      %next = arith.addi %b, %one : i32
      %column = arith.index_cast %next : i32 to index
      %value = memref.load %x[%row, %column] : memref<3x5xf32>
      memref.store %value, %out[%column] : memref<5xf32>
      scf.yield
    }
    scf.yield
  }
  func.return
}
