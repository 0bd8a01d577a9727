// The first of a row's maxima: one branch for both of its vectors, each arm with what it chooses.
// The condition goes to the front, before words are taken, but not before what sets its variable, nor
// before a constant that it needs and that is the first.

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
// CHECK: "dlc.case"() <{token = "case_2"}>
// CHECK: "slc.set"(%{{.*}}) <{variable = "begun"}>
// CHECK-NEXT: "slc.get"() <{variable = "begun"}>
// CHECK: scf.if
// CHECK: "dlc.case"() <{token = "case_3"}>
// CHECK: %zero3 = arith.constant
// CHECK: %condition3 = arith.cmpi ne, %begun3, %zero3
// CHECK-NEXT: scf.if %condition3
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
  "dlc.case"() <{token = "case_2"}> ({
    %left2 = "slc.pop"() : () -> vector<4xf32>
    %zero2 = arith.constant 0 : i32
    %set = "slc.pop"() : () -> i32
    "slc.set"(%set) <{variable = "begun"}> : (i32) -> ()
    %begun2 = "slc.get"() <{variable = "begun"}> : () -> i32
    %condition2 = arith.cmpi ne, %begun2, %zero2 : i32
    %old2 = "slc.get"() <{variable = "out_0"}> : () -> vector<4xf32>
    %new2 = arith.select %condition2, %old2, %left2 : vector<4xf32>
    "slc.set"(%new2) <{variable = "out_0"}> : (vector<4xf32>) -> ()
    %right2 = "slc.pop"() : () -> vector<4xf32>
    %next2 = arith.select %condition2, %new2, %right2 : vector<4xf32>
    "slc.set"(%next2) <{variable = "out_1"}> : (vector<4xf32>) -> ()
  }) : () -> ()
  "dlc.case"() <{token = "case_3"}> ({
    %zero3 = arith.constant 0 : i32
    %left3 = "slc.pop"() : () -> vector<4xf32>
    %begun3 = "slc.get"() <{variable = "begun"}> : () -> i32
    %condition3 = arith.cmpi ne, %begun3, %zero3 : i32
    %old3 = "slc.get"() <{variable = "out_0"}> : () -> vector<4xf32>
    %new3 = arith.select %condition3, %old3, %left3 : vector<4xf32>
    "slc.set"(%new3) <{variable = "out_0"}> : (vector<4xf32>) -> ()
    %right3 = "slc.pop"() : () -> vector<4xf32>
    %next3 = arith.select %condition3, %new3, %right3 : vector<4xf32>
    "slc.set"(%next3) <{variable = "out_1"}> : (vector<4xf32>) -> ()
  }) : () -> ()
  func.return
}
