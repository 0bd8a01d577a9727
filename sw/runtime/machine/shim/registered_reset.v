
// TOP, reset by a register. All next states depend on the reset: where it is an input, Verilator
// writes their logic twice, and evaluates it in both halves of a cycle.
module registered_reset(
  input clk,
  input rst,
  input host__request__valid,
  input [63:0] host__request__payload,
  output host__request__ready,
  output host__response__valid,
  output [31:0] host__response__payload,
  input host__response__ready
);
  reg reset;
  always @(posedge clk) reset <= rst;
  TOP TOP(
    .clk(clk),
    .rst(reset),
    .host__request__valid(host__request__valid),
    .host__request__payload(host__request__payload),
    .host__request__ready(host__request__ready),
    .host__response__valid(host__response__valid),
    .host__response__payload(host__response__payload),
    .host__response__ready(host__response__ready)
  );
endmodule
