// A variable is read once, until it is set; the next case reads it anew.

// CHECK: "dlc.case"() <{token = "case_0"}>
// CHECK-NEXT: %first = "slc.get"() <{variable = "sum"}>
// CHECK-NEXT: [[TWICE:%.*]] = arith.addf %first, %first
// CHECK-NEXT: "slc.set"([[TWICE]]) <{variable = "sum"}>
// CHECK-NEXT: %third = "slc.get"() <{variable = "sum"}>
// CHECK-NEXT: "flat.store"(%third)
// CHECK: "dlc.case"() <{token = "case_1"}>
// CHECK-NEXT: "slc.get"() <{variable = "sum"}>
func.func @f() attributes {names = ""} {
  "dlc.case"() <{token = "case_0"}> ({
    %first = "slc.get"() <{variable = "sum"}> : () -> f32
    %second = "slc.get"() <{variable = "sum"}> : () -> f32
    %twice = arith.addf %first, %second : f32
    "slc.set"(%twice) <{variable = "sum"}> : (f32) -> ()
    %third = "slc.get"() <{variable = "sum"}> : () -> f32
    "flat.store"(%third) <{array = "out", offset = 0 : i64, operandSegmentSizes = array<i32: 0, 0, 1>}> : (f32) -> ()
  }) : () -> ()
  "dlc.case"() <{token = "case_1"}> ({
    %fourth = "slc.get"() <{variable = "sum"}> : () -> f32
    "flat.store"(%fourth) <{array = "out", offset = 0 : i64, operandSegmentSizes = array<i32: 0, 0, 1>}> : (f32) -> ()
  }) : () -> ()
  func.return
}
