
// TOP with a host at its port: host.cpp, which is asked and told in each cycle. Cycles begin at the
// falling edge.
module TOP_with_host(
  input clk,
  input rst,  // a register resets the machine a cycle later, for what Verilator makes of an input
  input begun,  // changes where a cycle that has begun is to have requests
  output bit ended,  // changes at the falling edge behind the last request and response
  output response_valid
);
  import "DPI-C" function void host_begin(
    output bit request_valid, output longint request, output bit response_ready, output bit ended);
  import "DPI-C" function void host_end(
    input bit reset, input bit request_ready, input bit response_valid, input int response);

  bit reset;
  bit request_valid;
  bit [63:0] request;
  bit response_ready;
  wire request_ready;
  wire [31:0] response;

  always @(negedge clk or begun) host_begin(request_valid, request, response_ready, ended);

  always @(posedge clk) begin
    reset <= rst;
    host_end(reset, request_ready, response_valid, response);
  end

  TOP TOP(
    .clk(clk),
    .rst(reset),
    .host__request__valid(request_valid),
    .host__request__payload(request),
    .host__request__ready(request_ready),
    .host__response__valid(response_valid),
    .host__response__payload(response),
    .host__response__ready(response_ready)
  );
endmodule
