// Two iterations, and bounds that are not known, of either loop.

// CHECK: func.func @f
// CHECK-NOT: arith.subi
// CHECK: func.return
func.func @f(%known: i32) attributes {names = ""} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  scf.for %i = %zero to %two step %one : i32 {
    scf.for %j = %zero to %two step %one : i32 {
      "slc.set"(%j) <{variable = "inner"}> : (i32) -> ()
    }
    "slc.set"(%i) <{variable = "outer"}> : (i32) -> ()
  }
  scf.for %i = %zero to %known step %one : i32 {
    scf.for %j = %zero to %two step %one : i32 {
      "slc.set"(%j) <{variable = "inner"}> : (i32) -> ()
    }
    "slc.set"(%i) <{variable = "outer"}> : (i32) -> ()
  }
  scf.for %i = %zero to %three step %one : i32 {
    scf.for %j = %zero to %known step %one : i32 {
      "slc.set"(%j) <{variable = "inner"}> : (i32) -> ()
    }
    "slc.set"(%i) <{variable = "outer"}> : (i32) -> ()
  }
  scf.for %i = %zero to %three step %one : i32 {
    scf.for %j = %known to %two step %one : i32 {
      "slc.set"(%j) <{variable = "inner"}> : (i32) -> ()
    }
    "slc.set"(%i) <{variable = "outer"}> : (i32) -> ()
  }
  func.return
}
