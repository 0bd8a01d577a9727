// Of fetches from where a line begins on, one a line; from elsewhere, one a line's length.

// CHECK: "flat.prefetch"(%row) <{array = "x", offset = 0 : i64}>
// CHECK-NEXT: "flat.prefetch"(%row) <{array = "x", offset = 16 : i64}>
// CHECK-NEXT: "flat.prefetch"(%at) <{array = "x", offset = 4 : i64}>
// CHECK-NEXT: "flat.prefetch"(%at) <{array = "x", offset = 20 : i64}>
// CHECK-NEXT: "flat.prefetch"(%at) <{array = "y", offset = 8 : i64}>
// CHECK-NEXT: func.return
func.func @f(%n: memref<i32>) attributes {names = "n"} {
  %line = arith.constant 16 : i32
  %at = memref.load %n[] : memref<i32>
  %row = arith.muli %at, %line : i32
  "flat.prefetch"(%row) <{array = "x", offset = 0 : i64}> : (i32) -> ()
  "flat.prefetch"(%row) <{array = "x", offset = 4 : i64}> : (i32) -> ()
  "flat.prefetch"(%row) <{array = "x", offset = 16 : i64}> : (i32) -> ()
  "flat.prefetch"(%row) <{array = "x", offset = 31 : i64}> : (i32) -> ()
  "flat.prefetch"(%at) <{array = "x", offset = 4 : i64}> : (i32) -> ()
  "flat.prefetch"(%at) <{array = "x", offset = 19 : i64}> : (i32) -> ()
  "flat.prefetch"(%at) <{array = "x", offset = 20 : i64}> : (i32) -> ()
  "flat.prefetch"(%at) <{array = "y", offset = 8 : i64}> : (i32) -> ()
  func.return
}
