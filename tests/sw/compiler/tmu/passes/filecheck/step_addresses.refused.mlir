// An induction variable that is stored, too, has to be counted anyway.

// CHECK-NOT: address_0
func.func @f(%n: memref<i32>) attributes {names = "n"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %row = arith.constant 24 : i32
  %end = arith.constant 8 : i32
  scf.for %k = %zero to %end step %one : i32 {
    %at = arith.muli %k, %row : i32
    "flat.store"(%at, %k) <{array = "out", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i32, i32) -> ()
    scf.yield
  }
  func.return
}
