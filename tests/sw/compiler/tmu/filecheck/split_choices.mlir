// The first of a row's maxima: one branch for both of its vectors, each arm with what it chooses.
// The condition goes to the front, before words are taken.

// CHECK: "dlc.case"() <{token = "case_0"}>
// CHECK: [[CONDITION:%.*]] = arith.cmpi ne, %begun, %zero
// CHECK-NEXT: scf.if [[CONDITION]] {
// CHECK: [[LEFT:%.*]] = "slc.pop"()
// CHECK: [[MORE:%.*]] = arith.maximumf {{%.*}}, [[LEFT]]
// CHECK: "slc.set"([[MORE]]) <{variable = "out_0"}>
// CHECK: "slc.set"({{%.*}}) <{variable = "out_1"}>
// CHECK: } else {
// CHECK: [[FIRST:%.*]] = "slc.pop"()
// CHECK: "slc.set"([[FIRST]]) <{variable = "out_0"}>
// CHECK: "slc.set"({{%.*}}) <{variable = "out_1"}>
// CHECK-NOT: arith.select
// CHECK: "dlc.case"() <{token = "case_1"}>
// CHECK-NOT: scf.if
// CHECK: arith.select
func.func @f() attributes {names = ""} {
  "dlc.case"() <{token = "case_0"}> ({
    %left = "slc.pop"() : () -> vector<4xf32>
    %begun = "slc.get"() <{variable = "begun"}> : () -> i32
    %zero = arith.constant 0 : i32
    %condition = arith.cmpi ne, %begun, %zero : i32
    %old = "slc.get"() <{variable = "out_0"}> : () -> vector<4xf32>
    %more = arith.maximumf %old, %left : vector<4xf32>
    %new = arith.select %condition, %more, %left : vector<4xf32>
    "slc.set"(%new) <{variable = "out_0"}> : (vector<4xf32>) -> ()
    %right = "slc.pop"() : () -> vector<4xf32>
    %other = "slc.get"() <{variable = "out_1"}> : () -> vector<4xf32>
    %most = arith.maximumf %other, %right : vector<4xf32>
    %next = arith.select %condition, %most, %right : vector<4xf32>
    "slc.set"(%next) <{variable = "out_1"}> : (vector<4xf32>) -> ()
  }) : () -> ()
  "dlc.case"() <{token = "case_1"}> ({
    %word = "slc.pop"() : () -> vector<4xf32>
    %flag = "slc.pop"() : () -> i32
    %one = arith.constant 1 : i32
    %is_one = arith.cmpi eq, %flag, %one : i32
    %before = "slc.get"() <{variable = "out_0"}> : () -> vector<4xf32>
    %chosen = arith.select %is_one, %word, %before : vector<4xf32>
    "slc.set"(%chosen) <{variable = "out_0"}> : (vector<4xf32>) -> ()
  }) : () -> ()
  func.return
}
