"""The reader of machine code, on what ``nvdisasm`` prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.cuda_static_parts import sass
from bench.cuda_static_parts.control_flow import ControlFlow
from bench.cuda_static_parts.row_loads import CodeLoads, loads_of_codes
from bench.cuda_static_parts.sass import DisassemblyError, Instruction, Location, disassemble, parse
from gnarl.sw.compiler.cuda.fusion import KERNEL
from gnarl.sw.compiler.cuda.source_parts import FusedKernel

HEADER = """
stored.word = load_pack<4>(address);
total += stored;
"""
SOURCE = """
switch (code) {
  case 0: Code0::run(feature); break;
  case 1: Code1::run(feature); break;
}
"""

TEXT = """
	.target	sm_90
//--------------------- .text.other                   --------------------------
        .size           other,(.L_x_9 - other)
other:
.text.other:
        /*0000*/                   EXIT ;
.L_x_0:
        /*0010*/                   BRA `(.L_x_0);
.L_x_9:
//--------------------- .text.fused                   --------------------------
fused:
.text.fused:
	//## File "/tmp/gnarl_fused_embedding_bags", line 2
        /*0000*/                   LDC.64 R2, c[0x0][0x218] ;
        /*0010*/                   ULDC.64 UR10, c[0x0][0x208] ;
        /*0020*/                   LDG.E R15, desc[UR10][R2.64] ;
        /*0030*/                   IMAD.WIDE R4, R15.reuse, 0x58, R4 ;
        /*0040*/                   LDG.E.64 R12, desc[UR10][R4.64+0x20] ;
        /*0050*/                   LDG.E.64 R46, desc[UR10][R4.64] ;
        /*0060*/                   ISETP.NE.AND P0, PT, R12, RZ, PT ;
        /*0070*/               @P0 BRA `(.L_x_11) ;
.L_x_10:
	//## File "HEADER", line 3 inlined at "/tmp/gnarl_fused_embedding_bags", line 3
	//## File "/tmp/gnarl_fused_embedding_bags", line 3
        /*0080*/                   LEA R48, P5, R12, R46, 0x5 ;
        /*0090*/                   LEA.HI.X.SX32 R49, R12, R47, 0x5, P5 ;
        /*00a0*/                   ISETP.NE.AND P6, PT, R12, -0x1, PT ;
	//## File "HEADER", line 2 inlined at "/tmp/gnarl_fused_embedding_bags", line 3
	//## File "/tmp/gnarl_fused_embedding_bags", line 3
        /*00b0*/               @P6 LDG.E.128.CONSTANT R20, desc[UR10][R48.64] ;
        /*00c0*/               @P6 LDG.E.128.CONSTANT R24, desc[UR10][R48.64+0x20] ;
	//## File "HEADER", line 3 inlined at "/tmp/gnarl_fused_embedding_bags", line 3
	//## File "/tmp/gnarl_fused_embedding_bags", line 3
        /*00d0*/               @P6 FADD R17, R17, R21 ;
	//## File "HEADER", line 2 inlined at "/tmp/gnarl_fused_embedding_bags", line 3
	//## File "/tmp/gnarl_fused_embedding_bags", line 3
        /*00e0*/               @P6 LDG.E.128.CONSTANT R28, desc[UR10][R48.64+0x40] ;
	//## File "HEADER", line 3 inlined at "/tmp/gnarl_fused_embedding_bags", line 3
	//## File "/tmp/gnarl_fused_embedding_bags", line 3
        /*00f0*/               @P6 FADD R13, R13, R25 ;
        /*0100*/               @P6 FADD R11, R11, R31 ;
        /*0110*/              @!P5 BRA P4, `(.L_x_10) ;
        /*0120*/                   EXIT ;
.L_x_11:
	//## File "HEADER", line 3 inlined at "/tmp/gnarl_fused_embedding_bags", line 4
	//## File "/tmp/gnarl_fused_embedding_bags", line 4
        /*0130*/                   LDG.E.CONSTANT R62, desc[UR10][R12.64] ;
        /*0140*/                   STS [R3], R62 ;
        /*0150*/                   CS2R R20, SRZ ;
.L_x_12:
        /*0160*/                   LDS R62, [R3] ;
        /*0170*/                   BRA.DIV UR5, `(.L_x_14) ;
.L_x_13:
	//## File "HEADER", line 2 inlined at "/tmp/gnarl_fused_embedding_bags", line 4
	//## File "/tmp/gnarl_fused_embedding_bags", line 4
        /*0180*/               @P3 LDG.E.64.CONSTANT R20, desc[UR10][R62.64] ;
        /*0190*/                   LDG.E.64.CONSTANT R22, desc[UR10][R62.64+0x8] ;
	//## File "HEADER", line 3 inlined at "/tmp/gnarl_fused_embedding_bags", line 4
	//## File "/tmp/gnarl_fused_embedding_bags", line 4
        /*01a0*/                   FADD R8, R20, R22 ;
        /*01b0*/               @P0 BRA `(.L_x_12) ;
        /*01c0*/                   STG.E.64 desc[UR10][R4.64], R8 ;
        /*01d0*/                   EXIT ;
.L_x_14:
        /*01e0*/                   WARPSYNC.COLLECTIVE R16, `(.L_x_13) ;
        /*01f0*/                   BRA `(.L_x_13) ;
.L_x_15:
        /*0200*/                   BRA `(.L_x_15);
        /*0210*/                   NOP;
"""


@pytest.fixture
def code(tmp_path: Path) -> list[Instruction]:
    header = tmp_path / "header.cuh"
    header.write_text(HEADER)
    return parse(TEXT.replace("HEADER", str(header)), "fused")


def read_and_written(opcode: str, operands: str) -> tuple[str, str]:
    found = Instruction("", "", opcode, operands)
    return " ".join(sorted(found.reads)), " ".join(sorted(found.writes))


def test_instructions_of_one_kernel(code: list[Instruction], tmp_path: Path) -> None:
    assert len(code) == 34
    assert code[0] == Instruction(
        "",
        "",
        "LDC.64",
        "R2, c[0x0][0x218]",
        (Location(Path("/tmp/gnarl_fused_embedding_bags"), 2),),
    )
    assert code[8].label == ".L_x_10"
    assert code[8].places == (
        Location(tmp_path / "header.cuh", 3),
        Location(Path("/tmp/gnarl_fused_embedding_bags"), 3),
    )
    assert code[17].predicate == "!P5" and code[17].targets == [".L_x_10"] and code[17].goes_on
    assert not code[18].goes_on
    assert code[-1].opcode == "NOP"


@pytest.mark.parametrize(
    ("opcode", "operands", "reads", "writes"),
    [
        ("LDG.E.128.CONSTANT", "R20, desc[UR10][R48.64+0x20]", "R48 R49 UR10", "R20 R21 R22 R23"),
        ("STG.E.64", "desc[UR10][R4.64], R8", "R4 R5 R8 R9 UR10", ""),
        ("STS.128", "[R3+UR4], R8", "R10 R11 R3 R8 R9 UR4", ""),
        ("LDGSTS.E.128", "[R5], desc[UR4][R6.64]", "R5 R6 R7 UR4", ""),
        ("IMAD.WIDE.U32", "R10, R3.reuse, 0x8, R12", "R12 R13 R3", "R10 R11"),
        ("CS2R", "R36, SRZ", "", "R36 R37"),
        ("CS2R.32", "R36, SR_CLOCKLO", "", "R36"),
        ("IADD3", "R12, P0, R4, -R5, RZ", "R4 R5", "R12"),
        ("LEA.HI.X", "R51, R48, UR9, R49, 0x3, P6", "R48 R49 UR9", "R51"),
        ("SHFL.IDX", "PT, R23, R19, R0, 0x101f", "R0 R19", "R23"),
        ("LOP3.LUT", "P0, RZ, R5, 0x1, RZ, 0xc0, !PT", "R5", ""),
        ("ISETP.NE.AND", "P0, PT, R13.reuse, -0x1, PT", "R13", ""),
        ("FADD", "R8, |R8|, -R20.reuse", "R20 R8", "R8"),
        ("R2UR", "UR8, R8", "R8", "UR8"),
        ("BRA.DIV", "UR5, `(.L_x_14)", "UR5", ""),
    ],
)
def test_registers(opcode: str, operands: str, reads: str, writes: str) -> None:
    assert read_and_written(opcode, operands) == (reads, writes)


def test_loops_have_parts_behind_everything_else(code: list[Instruction]) -> None:
    assert ControlFlow(code).loops() == [[*range(8, 18)], [*range(22, 28), 30, 31]]


def test_bursts_waits_and_instructions_before_a_row(code: list[Instruction]) -> None:
    found = loads_of_codes(code, FusedKernel(SOURCE, (), 0, KERNEL))
    assert found == {
        0: CodeLoads(((2, 1),), predicated=3, loads=3, before_first=11, waits=2),
        1: CodeLoads(((2,),), predicated=1, loads=2, before_first=13, waits=3),
    }
    splits = {number: loads.splits for number, loads in found.items()}
    assert splits == {0: True, 1: False}
    assert found[0].in_flight == 1.5


def test_what_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DisassemblyError) as raised:
        parse(TEXT, "another")
    assert str(raised.value) == "nvdisasm: no kernel another: is it in the source?"
    monkeypatch.setattr(sass, "nvdisasm", lambda: None)
    with pytest.raises(DisassemblyError) as raised:
        disassemble(b"", "fused")
    assert str(raised.value) == (
        "nvdisasm is not installed: machine code is read through it: "
        "pip install nvidia-cuda-nvdisasm"
    )


@pytest.mark.skipif(sass.nvdisasm() is None, reason="needs nvidia-cuda-nvdisasm")
def test_what_is_no_machine_code() -> None:
    with pytest.raises(DisassemblyError, match="^nvdisasm: .*kernel.cubin"):
        disassemble(b"no machine code", "fused")
