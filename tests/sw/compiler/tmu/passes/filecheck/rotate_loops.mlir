// What stands behind an inner loop begins the next iteration; three are enough.

// CHECK: scf.for %{{.*}} = %{{.*}} to %two
// CHECK: "slc.set"(%{{.*}}) <{variable = "inner"}>
// CHECK: scf.for [[I:%.*]] = %{{.*}} to %three
// CHECK-NEXT: [[BEFORE:%.*]] = arith.subi [[I]], %{{.*}}
// CHECK-NEXT: "slc.set"([[BEFORE]]) <{variable = "outer"}>
// CHECK-NEXT: scf.for
// CHECK-NEXT: "slc.set"(%{{.*}}) <{variable = "inner"}>
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: "slc.set"(%{{.*}}) <{variable = "outer"}>
// CHECK-NEXT: func.return
func.func @f() attributes {names = ""} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  scf.for %i = %zero to %three step %one : i32 {
    scf.for %j = %zero to %two step %one : i32 {
      "slc.set"(%j) <{variable = "inner"}> : (i32) -> ()
    }
    "slc.set"(%i) <{variable = "outer"}> : (i32) -> ()
  }
  func.return
}
