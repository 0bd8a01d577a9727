// A unit a fiber, each with its coordinates as stream 1. A union's coordinate is a word of each
// unit, of which all are 0 that have not got it.

// CHECK: "dlc.layer"() <{{.*}}disjunctive
// CHECK: "dlc.case"() <{token = "case_0"}>
// CHECK: %[[MASK:.*]] = "slc.pop"() : () -> i32
// CHECK: %[[FIRST:.*]] = "slc.pop"() : () -> i32
// CHECK: %[[SECOND:.*]] = "slc.pop"() : () -> i32
// CHECK: %[[COORDINATE:.*]] = arith.ori %[[FIRST]], %[[SECOND]] : i32
// CHECK: arith.index_cast %[[COORDINATE]]
func.func @f(%left: memref<9xi32>, %right: memref<7xi32>, %out: memref<16xi32>) attributes {names = "left,right,out"} {
  %zero = arith.constant 0 : i32
  %nine = arith.constant 9 : i32
  %seven = arith.constant 7 : i32
  "slc.merge"(%left, %right, %zero, %zero, %nine, %seven) <{kind = "disjunctive", operandSegmentSizes = array<i32: 2, 2, 2>}> ({
  ^bb0(%k: !slc.stream<i32>, %p: !slc.stream<i32>, %q: !slc.stream<i32>, %masks: !slc.stream<i32>):
    "slc.callback"(%masks, %k) ({
    ^bb1(%mask: i32, %coordinate: i32):
      %at = arith.index_cast %coordinate : i32 to index
      memref.store %mask, %out[%at] : memref<16xi32>
    }) : (!slc.stream<i32>, !slc.stream<i32>) -> ()
  }) : (memref<9xi32>, memref<7xi32>, i32, i32, i32, i32) -> ()
  func.return
}
