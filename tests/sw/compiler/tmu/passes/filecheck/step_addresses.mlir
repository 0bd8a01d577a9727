// A column of a matrix: its address goes on by a row in each iteration.

// CHECK: [[FIRST:%.*]] = arith.addi
// CHECK: "slc.set"([[FIRST]]) <{variable = "address_0"}>
// CHECK: scf.for
// CHECK: [[AT:%.*]] = "slc.get"() <{variable = "address_0"}>
// CHECK: "flat.load"([[AT]]) <{array = "x"
// CHECK: [[LATER:%.*]] = arith.addi [[AT]]
// CHECK: "slc.set"([[LATER]]) <{variable = "address_0"}>
func.func @f(%n: memref<i32>) attributes {names = "n"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %row = arith.constant 24 : i32
  %end = arith.constant 8 : i32
  %column = memref.load %n[] : memref<i32>
  scf.for %k = %zero to %end step %one : i32 {
    %times = arith.muli %k, %row : i32
    %at = arith.addi %times, %column : i32
    %value = "flat.load"(%at) <{array = "x", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> f32
    "slc.set"(%value) <{variable = "last"}> : (f32) -> ()
    scf.yield
  }
  %last = "slc.get"() <{variable = "last"}> : () -> f32
  "flat.store"(%zero, %last) <{array = "out", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i32, f32) -> ()
  func.return
}
