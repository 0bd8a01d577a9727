// What cells of Lattice ECP5 do, as far as synthesis uses them. Sources: Lattice FPGA-TN-02204
// (memories), FPGA-TN-02205 (multipliers); cells_sim_ecp5.v of Yosys (logic).

module LUT4(input A, B, C, D, output Z);
  parameter [15:0] INIT = 0;
  assign Z = INIT[{D, C, B, A}];
endmodule

module PFUMX(input ALUT, BLUT, C0, output Z);
  assign Z = C0 ? ALUT : BLUT;
endmodule

module L6MUX21(input D0, D1, SD, output Z);
  assign Z = SD ? D1 : D0;
endmodule

// Two bits of a sum: of each a propagate bit, from four inputs, and a generate bit, from two.
module CCU2C(input CIN, A0, B0, C0, D0, A1, B1, C1, D1, output S0, S1, COUT);
  parameter [15:0] INIT0 = 0, INIT1 = 0;
  parameter INJECT1_0 = "YES", INJECT1_1 = "YES";
  wire p0 = INIT0[{D0, C0, B0, A0}], p1 = INIT1[{D1, C1, B1, A1}];
  wire g0 = INJECT1_0 != "YES" & INIT0[{2'b00, B0, A0}];
  wire g1 = INJECT1_1 != "YES" & INIT1[{2'b00, B1, A1}];
  wire carry = p0 ? CIN : g0;
  assign S0 = p0 ^ (INJECT1_0 != "YES" & CIN);
  assign S1 = p1 ^ (INJECT1_1 != "YES" & carry);
  assign COUT = p1 ? carry : g1;
endmodule

module TRELLIS_FF(input CLK, LSR, CE, DI, M, output reg Q);
  parameter GSR = "", CEMUX = "1", CLKMUX = "CLK", LSRMUX = "LSR", SRMODE = "LSR_OVER_CE";
  parameter REGSET = "RESET", LSRMODE = "LSR";
  initial Q = REGSET == "SET";
  wire enable = CEMUX == "CE" ? CE : CEMUX != "INV" | ~CE;
  wire reset = LSRMUX == "INV" ? ~LSR : LSR;
  initial if (CLKMUX != "CLK" || SRMODE != "LSR_OVER_CE" || LSRMODE != "LSR") $stop;
  always @(posedge CLK)
    if (reset) Q <= REGSET == "SET";
    else if (enable) Q <= DI;
endmodule

module TRELLIS_DPR16X4(input [3:0] DI, WAD, RAD, input WRE, WCK, output [3:0] DO);
  parameter WCKMUX = "WCK", WREMUX = "WRE";
  parameter [63:0] INITVAL = 0;
  reg [3:0] words [0:15];
  initial if (WCKMUX != "WCK" || WREMUX != "WRE") $stop;
  always @(posedge WCK) if (WRE) words[WAD] <= DI;
  assign DO = words[RAD];
endmodule

// 18 Kbit in words of 9, 18 or 36 bits, each 9 of which are written or not. Words of 36 bits are
// written at port A and read at port B. While a word is written, it is not read, or as it was.
module DP16KD(
  input CLKA, CEA, OCEA, RSTA, WEA, CSA0, CSA1, CSA2, CLKB, CEB, OCEB, RSTB, WEB, CSB0, CSB1,
  CSB2,
  input ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
  ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
  input DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5,
  DIA4, DIA3, DIA2, DIA1, DIA0, DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9,
  DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
  output DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5,
  DOA4, DOA3, DOA2, DOA1, DOA0, DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9,
  DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0);
  parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18, REGMODE_A = "NOREG", REGMODE_B = "NOREG";
  parameter RESETMODE = "SYNC", ASYNC_RESET_RELEASE = "SYNC", GSR = "DISABLED";
  parameter CSDECODE_A = "0b000", CSDECODE_B = "0b000", CLKAMUX = "CLKA", CLKBMUX = "CLKB";
  parameter WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL";
  localparam SHIFT = DATA_WIDTH_A == 36 ? 5 : DATA_WIDTH_A == 18 ? 4 : 3;
  initial begin
    if (DATA_WIDTH_A != DATA_WIDTH_B || DATA_WIDTH_A < 9) $stop;
    if (CLKAMUX != "CLKA" || CLKBMUX != "CLKB" || REGMODE_A != "NOREG" || REGMODE_B != "NOREG") $stop;
  end
  reg [35:0] words [0:(1 << (14 - SHIFT)) - 1];
  reg [35:0] a, b;
  wire [13:0] address_a = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3,
  ADA2, ADA1, ADA0};
  wire [17:0] data_a = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7,
  DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
  wire [13:0] address_b = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3,
  ADB2, ADB1, ADB0};
  wire [17:0] data_b = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7,
  DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0};
  wire [3:0] lanes_a = SHIFT == 5 ? address_a[3:0] : SHIFT == 4 ? {2'b00, address_a[1:0]} : 4'b0001;
  wire [3:0] lanes_b = SHIFT == 5 ? 4'b0000 : SHIFT == 4 ? {2'b00, address_b[1:0]} : 4'b0001;
  wire [35:0] written_a = {data_b, data_a};
  integer lane;
  always @(posedge CLKA) if (CEA) begin
    if (RSTA) a <= 0;
    else if (!WEA || WRITEMODE_A == "READBEFOREWRITE") a <= words[address_a >> SHIFT];
    for (lane = 0; lane < 4; lane = lane + 1)
      if (WEA & lanes_a[lane]) words[address_a >> SHIFT][9 * lane +: 9] <= written_a[9 * lane +: 9];
  end
  always @(posedge CLKB) if (CEB) begin
    if (RSTB) b <= 0;
    else if (!WEB || WRITEMODE_B == "READBEFOREWRITE") b <= words[address_b >> SHIFT];
    for (lane = 0; lane < 2; lane = lane + 1)
      if (WEB & lanes_b[lane]) words[address_b >> SHIFT][9 * lane +: 9] <= data_b[9 * lane +: 9];
  end
  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5,
  DOA4, DOA3, DOA2, DOA1, DOA0} = SHIFT == 5 ? b[17:0] : a[17:0];
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5,
  DOB4, DOB3, DOB2, DOB1, DOB0} = SHIFT == 5 ? b[35:18] : b[17:0];
endmodule

// A product of two numbers of 18 bits, without registers.
module MULT18X18D(
  input A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0, B17, B16,
  B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0,
  input C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6, C5, C4, C3, C2, C1, C0, SIGNEDA,
  SIGNEDB, SOURCEA, SOURCEB,
  output P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
  P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0);
  wire signed [18:0] a = {SIGNEDA & A17, A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6,
  A5, A4, A3, A2, A1, A0};
  wire signed [18:0] b = {SIGNEDB & B17, B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6,
  B5, B4, B3, B2, B1, B0};
  wire signed [37:0] product = a * b;
  assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19,
  P18, P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} =
  product[35:0];
endmodule
