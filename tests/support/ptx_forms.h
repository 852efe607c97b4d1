// SPDX-License-Identifier: Apache-2.0
//
// Scalar instructions one at a time: a kernel that applies one to arrays of operands, for tests of their meaning
// and for the comparison with a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::test {

enum class OperandRange : std::uint8_t { kBits, kF32, kF64, kF16, kBf16, kShift, kSmall };

struct ScalarForm {
  std::string text;  // with the registers d, a, b, c, e; d is a predicate where d_bits is 1
  std::uint32_t d_bits = 32;
  std::vector<std::uint32_t> bits;  // of a, b, c, e
  OperandRange range = OperandRange::kBits;
  bool is_approximate = false;  // a GPU may differ in the last places
};

inline std::string register_type(std::uint32_t bits) { return bits == 1 ? ".pred" : ".b" + std::to_string(bits); }

// One word of 64 bits for each operand and for the result; a thread for each set of operands.
inline std::string scalar_kernel(const ScalarForm& form, const std::string& target = "sm_90a") {
  std::string text = ".version 8.7\n.target " + target + "\n.address_size 64\n";
  text += ".visible .entry apply(.param .u64 out, .param .u64 in, .param .u32 count)\n{\n";
  text += "  .reg .b64 %rd<10>;\n  .reg .b32 %r<10>;\n  .reg .pred %p<3>;\n";
  text += "  .reg " + register_type(form.d_bits) + " d;\n";
  const char* const names[] = {"a", "b", "c", "e"};
  for (std::size_t s = 0; s < form.bits.size(); ++s) {
    text += "  .reg " + register_type(form.bits[s]) + " " + names[s] + ";\n";
  }
  text +=
      "  ld.param.u64 %rd1, [out];\n  ld.param.u64 %rd2, [in];\n  ld.param.u32 %r1, [count];\n"
      "  mov.u32 %r2, %ctaid.x;\n  mov.u32 %r3, %ntid.x;\n  mov.u32 %r4, %tid.x;\n"
      "  mad.lo.s32 %r5, %r2, %r3, %r4;\n  setp.ge.u32 %p1, %r5, %r1;\n  @%p1 ret;\n"
      "  mul.wide.u32 %rd3, %r5, 32;\n  add.s64 %rd4, %rd2, %rd3;\n"
      "  mul.wide.u32 %rd5, %r5, 8;\n  add.s64 %rd6, %rd1, %rd5;\n";
  for (std::size_t s = 0; s < form.bits.size(); ++s) {
    text += "  ld.global.u64 %rd7, [%rd4+" + std::to_string(8 * s) + "];\n";
    const std::string name = names[s];
    if (form.bits[s] == 64) {
      text += "  mov.b64 " + name + ", %rd7;\n";
    } else if (form.bits[s] == 1) {
      text += "  and.b64 %rd7, %rd7, 1;\n  setp.ne.u64 " + name + ", %rd7, 0;\n";
    } else {
      text += "  cvt.u" + std::to_string(form.bits[s]) + ".u64 " + name + ", %rd7;\n";
    }
  }
  text += "  " + form.text + "\n";
  if (form.d_bits == 64) {
    text += "  mov.b64 %rd8, d;\n";
  } else if (form.d_bits == 1) {
    text += "  selp.u64 %rd8, 1, 0, d;\n";
  } else {
    text += "  cvt.u64.u" + std::to_string(form.d_bits) + " %rd8, d;\n";
  }
  return text + "  st.global.u64 [%rd6], %rd8;\n  ret;\n}\n";
}

// What lanes of a warp do together, with the operands of each lane, and atomics, each on memory of its own.
// Results of several registers are folded into one.
inline std::vector<ScalarForm> warp_forms() {
  std::vector<ScalarForm> forms;
  const auto add = [&](std::string text, std::uint32_t d, std::vector<std::uint32_t> s,
                       OperandRange range = OperandRange::kBits) {
    forms.push_back({std::move(text), d, std::move(s), range, false});
  };
  for (const std::string mode : {"idx", "up", "down", "bfly"}) {
    const std::string whole = mode == "up" ? "0" : "31";
    add("shfl.sync." + mode + ".b32 d, a, b, " + whole + ", -1;", 32, {32, 32});
    add("shfl.sync." + mode + ".b32 d, a, b, " + (mode == "up" ? "0x1800" : "0x181f") + ", -1;", 32, {32, 32});
    add("{ .reg .b32 x; .reg .pred q; shfl.sync." + mode + ".b32 x|q, a, b, " + whole +
            ", -1; selp.b32 d, x, 7, q; }",
        32, {32, 32});
  }
  for (const std::string mode : {"all", "any", "uni"}) {
    add("vote.sync." + mode + ".pred d, a, -1;", 1, {1});
    add("vote.sync." + mode + ".pred d, !a, -1;", 1, {1});
    add("{ .reg .pred q; setp.lt.u32 q, a, 0xf0000000; vote.sync." + mode + ".pred d, q, -1; }", 1, {32});
  }
  add("vote.sync.ballot.b32 d, a, -1;", 32, {1});
  for (const std::string t : {"b32", "b64"}) {
    const std::uint32_t n = t == "b32" ? 32 : 64;
    add("match.any.sync." + t + " d, a, -1;", 32, {n}, OperandRange::kSmall);
    add("{ .reg .pred q; .reg .b32 x; match.all.sync." + t + " x|q, a, -1; selp.b32 d, x, 5, q; }", 32, {n},
        OperandRange::kSmall);
  }
  for (const std::string op :
       {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"}) {
    add("redux.sync." + op + " d, a, -1;", 32, {32});
  }
  add("{ .reg .pred q; .reg .b32 x; elect.sync x|q, -1; selp.b32 d, 100, x, q; }", 32, {});
  add("activemask.b32 d;", 32, {});
  // Each lane has 16 bytes of shared memory at s2.
  const std::string shared =
      "{ .reg .b32 s<9>; .shared .align 128 .b8 tile[2048]; mov.u32 s0, %tid.x; shl.b32 s1, s0, 4;\n"
      "  mov.u32 s2, tile; add.u32 s2, s2, s1; st.shared.v4.b32 [s2], {a, b, c, e}; bar.warp.sync -1;\n  ";
  const std::string fold = " xor.b32 s3, s3, s4; mul.lo.u32 s5, s5, 3; xor.b32 s5, s5, s6; xor.b32 d, s3, s5; }";
  const std::string zeros = "mov.b32 s3, 0; mov.b32 s4, 0; mov.b32 s5, 0; mov.b32 s6, 0; ";
  for (const std::string trans : {"", ".trans"}) {
    for (const std::string count : {"1", "2", "4"}) {
      const std::string regs = count == "1" ? "{s3}" : count == "2" ? "{s3, s4}" : "{s3, s4, s5, s6}";
      const std::string values = count == "1" ? "{a}" : count == "2" ? "{a, b}" : "{a, b, c, e}";
      add(shared + zeros + "ldmatrix.sync.aligned.m8n8.x" + count + trans + ".shared.b16 " + regs + ", [s2];" +
              fold,
          32, {32, 32, 32, 32});
      add(shared + "stmatrix.sync.aligned.m8n8.x" + count + trans + ".shared.b16 [s2], " + values +
              "; bar.warp.sync -1; ld.shared.v4.b32 {s3, s4, s5, s6}, [s2];" + fold,
          32, {32, 32, 32, 32});
    }
  }
  for (const std::string size : {"4", "8", "16"}) {
    add(shared + "cp.async.ca.shared.global [s2], [%rd4], " + size +
            "; cp.async.commit_group; cp.async.wait_group 0; ld.shared.v4.b32 {s3, s4, s5, s6}, [s2];" + fold,
        32, {32, 32, 32, 32});
  }
  add(shared +
          "and.b32 s7, a, 15; cp.async.cg.shared.global [s2], [%rd4], 16, s7; cp.async.wait_all;\n"
          "  ld.shared.v4.b32 {s3, s4, s5, s6}, [s2];" +
          fold,
      32, {32, 32, 32, 32});
  struct Multiply {
    const char* name;
    bool is_deep;
    OperandRange range;
  };
  constexpr Multiply kMultiplies[] = {{"m16n8k16.row.col.f32.f16.f16.f32", true, OperandRange::kF16},
                                      {"m16n8k8.row.col.f32.f16.f16.f32", false, OperandRange::kF16},
                                      {"m16n8k16.row.col.f32.bf16.bf16.f32", true, OperandRange::kBf16},
                                      {"m16n8k8.row.col.f32.bf16.bf16.f32", false, OperandRange::kBf16},
                                      {"m16n8k8.row.col.f32.tf32.tf32.f32", true, OperandRange::kF32},
                                      {"m16n8k4.row.col.f32.tf32.tf32.f32", false, OperandRange::kF32},
                                      {"m16n8k32.row.col.f32.e4m3.e4m3.f32", true, OperandRange::kBits},
                                      {"m16n8k32.row.col.f32.e4m3.e5m2.f32", true, OperandRange::kBits},
                                      {"m16n8k32.row.col.f32.e5m2.e5m2.f32", true, OperandRange::kBits},
                                      {"m16n8k16.row.col.f32.e4m3.e4m3.f32", false, OperandRange::kBits},
                                      {"m16n8k16.row.col.f32.e5m2.e4m3.f32", false, OperandRange::kBits},
                                      {"m16n8k32.row.col.s32.s8.s8.s32", true, OperandRange::kBits},
                                      {"m16n8k32.row.col.s32.u8.s8.s32", true, OperandRange::kBits},
                                      {"m16n8k32.row.col.satfinite.s32.s8.u8.s32", true, OperandRange::kBits},
                                      {"m16n8k16.row.col.s32.u8.u8.s32", false, OperandRange::kBits}};
  for (const Multiply& one : kMultiplies) {
    add(std::string("{ .reg .b32 s<7>; shl.b32 s3, c, 1; mov.b32 s4, 0x3f800000; mov.b32 s5, 0; mov.b32 s6, e;\n"
                    "  mma.sync.aligned.") +
            one.name + " {s3, s4, s5, s6}, " + (one.is_deep ? "{a, b, c, e}, {b, e}" : "{a, b}, {c}") +
            ", {s3, s4, s5, s6};" + fold,
        32, {32, 32, 32, 32}, one.range);
  }
  for (const bool is_deep : {false, true}) {
    add(std::string("{ .reg .b32 s<7>; mov.b32 s5, 0; mov.b32 s6, 0; mov.b32 s3, e; mov.b32 s4, 0x3c003c00;\n"
                    "  mma.sync.aligned.m16n8k") +
            (is_deep ? "16.row.col.f16.f16.f16.f16 {s3, s4}, {a, b, c, e}, {b, e}"
                     : "8.row.col.f16.f16.f16.f16 {s3, s4}, {a, b}, {c}") +
            ", {s3, s4};" + fold,
        32, {32, 32, 32, 32}, OperandRange::kF16);
  }
  for (const std::string types : {"e4m3.e4m3", "e4m3.e5m2", "e5m2.e5m2"}) {
    for (const bool is_deep : {false, true}) {
      add("{ .reg .b32 s<7>; mov.b32 s5, 0; mov.b32 s6, 0; mov.b32 s3, e; mov.b32 s4, 0x3c003c00;\n"
          "  mma.sync.aligned.m16n8k" +
              std::string(is_deep ? "32" : "16") + ".row.col.f16." + types + ".f16 {s3, s4}, " +
              (is_deep ? "{a, b, c, e}, {b, e}" : "{a, b}, {c}") + ", {s3, s4};" + fold,
          32, {32, 32, 32, 32});
    }
  }
  for (const std::string layouts : {"row.row", "row.col", "col.row", "col.col"}) {
    const std::string start =
        "{ .reg .b32 s<9>; mov.b32 s0, c; mov.b32 s1, 0x3c003c00; mov.b32 s2, e; xor.b32 s3, c, b;\n  ";
    const std::string multiply = "mma.sync.aligned.m8n8k4." + layouts;
    add(start + multiply +
            ".f16.f16.f16.f16 {s0, s1, s2, s3}, {a, b}, {c, e}, {s0, s1, s2, s3};\n"
            "  xor.b32 s0, s0, s1; mul.lo.u32 s2, s2, 3; xor.b32 s2, s2, s3; xor.b32 d, s0, s2; }",
        32, {32, 32, 32, 32}, OperandRange::kF16);
    std::string sum = "\n  ";
    for (const std::string r : {"1", "2", "3", "4", "5", "6", "7"}) {
      sum += "mul.lo.u32 s0, s0, 3; xor.b32 s0, s0, s" + r + "; ";
    }
    add(start + multiply +
            ".f32.f16.f16.f16 {s0, s1, s2, s3, s4, s5, s6, s7}, {a, b}, {c, e}, {s0, s1, s2, s3};" + sum +
            "mov.b32 d, s0; }",
        32, {32, 32, 32, 32}, OperandRange::kF16);
    add(start + "mov.b32 s4, 0; mov.b32 s5, 0x3f800000; shl.b32 s6, a, 1; mov.b32 s7, 0xc0400000;\n  " +
            multiply +
            ".f32.f16.f16.f32 {s0, s1, s2, s3, s4, s5, s6, s7}, {a, b}, {c, e}, {s0, s1, s2, s3, s4, s5, s6, "
            "s7};" +
            sum + "mov.b32 d, s0; }",
        32, {32, 32, 32, 32}, OperandRange::kF16);
  }
  // Memory holds a; the old and the new value are folded into one.
  const auto atomics = [&](const std::string& op, const std::string& type, std::uint32_t n, OperandRange range) {
    const std::string t = ".b" + std::to_string(n);
    const std::string c = op == "cas" ? ", c" : "";
    const std::string end = " mul.lo.u" + std::to_string(n) + " x, x, 3; xor" + t + " d, x, y; }";
    add("{ .reg " + t +
            " x, y; .shared .align 8 .b8 m[1024]; .reg .b32 s<4>; mov.u32 s0, %tid.x; mov.u32 s1, m;\n"
            "  mad.lo.u32 s2, s0, 8, s1; st.shared" +
            t + " [s2], a; atom.shared." + op + "." + type + " x, [s2], b" + c + "; ld.shared" + t + " y, [s2];" +
            end,
        n, {n, n, n}, range);
    add("{ .reg " + t + " x, y; st.global" + t + " [%rd6], a; atom.global." + op + "." + type + " x, [%rd6], b" +
            c + "; ld.global" + t + " y, [%rd6];" + end,
        n, {n, n, n}, range);
  };
  for (const std::string t : {"32", "64"}) {
    const std::uint32_t n = t == "32" ? 32 : 64;
    for (const std::string op : {"and", "or", "xor", "exch"}) atomics(op, "b" + t, n, OperandRange::kBits);
    atomics("cas", "b" + t, n, OperandRange::kSmall);
    for (const std::string op : {"min", "max"}) {
      atomics(op, "u" + t, n, OperandRange::kBits);
      atomics(op, "s" + t, n, OperandRange::kBits);
    }
    atomics("add", "u" + t, n, OperandRange::kBits);
  }
  atomics("add", "s32", 32, OperandRange::kBits);
  atomics("inc", "u32", 32, OperandRange::kSmall);
  atomics("dec", "u32", 32, OperandRange::kSmall);
  atomics("cas", "b16", 16, OperandRange::kSmall);
  atomics("add", "f32", 32, OperandRange::kF32);
  atomics("add", "f64", 64, OperandRange::kF64);
  for (const bool is_half : {true, false}) {
    const std::string type = is_half ? "f16x2" : "bf16x2";
    const OperandRange range = is_half ? OperandRange::kF16 : OperandRange::kBf16;
    // The old value, or the new one. On shared memory, b comes from there: as the lower half of 64 bits, the
    // assembler of CUDA 13.0 takes its upper part from the wrong register.
    for (const std::string result : {"x", "y"}) {
      add("{ .reg .b32 x, y; .shared .align 8 .b8 m[1024]; .reg .b32 s<4>; mov.u32 s0, %tid.x; mov.u32 s1, m;\n"
          "  mad.lo.u32 s2, s0, 8, s1; st.shared.b32 [s2+4], b; ld.shared.b32 s3, [s2+4]; st.shared.b32 [s2], "
          "a;\n"
          "  atom.shared.add.noftz." +
              type + " x, [s2], s3; ld.shared.b32 y, [s2]; mov.b32 d, " + result + "; }",
          32, {32, 32}, range);
      add("{ .reg .b32 x, y; st.global.b32 [%rd6], a; atom.global.add.noftz." + type +
              " x, [%rd6], b; ld.global.b32 y, [%rd6]; mov.b32 d, " + result + "; }",
          32, {32, 32}, range);
    }
  }
  return forms;
}

// wmma: matrices of finite numbers in shared memory, 1024 bytes for each warp, are loaded, multiplied and folded
// into one register; and so is each operand by itself, since programs may look at its registers.
inline std::vector<ScalarForm> wmma_forms() {
  std::vector<ScalarForm> forms;
  const auto list = [](const std::string& name, std::uint32_t count) {
    std::string text = "{";
    for (std::uint32_t r = 0; r < count; ++r) text += (r == 0 ? "" : ", ") + name + std::to_string(r);
    return text + "}";
  };
  const auto folded = [](const std::string& name, std::uint32_t count, bool is_wide) {
    std::string text = "mov.b32 d, 0; ";
    for (std::uint32_t r = 0; r < count; ++r) {
      const std::string one = name + std::to_string(r);
      if (is_wide) text += "mov.b64 {s5, s6}, " + one + "; xor.b32 s5, s5, s6; ";
      text += "mul.lo.u32 d, d, 3; xor.b32 d, d, " + (is_wide ? "s5" : one) + "; ";
    }
    return text;
  };
  struct Kind {
    const char *shape, *type, *sum;
    std::uint32_t a, b, c;  // registers
    std::uint32_t m, n, k;
    std::uint32_t mask;  // of the bits that may be set
    bool has_layouts = true;
  };
  constexpr std::uint32_t kHalf = 0xbfffbfff, kAll = 0xffffffff;
  constexpr Kind kKinds[] = {{".m16n16k16", ".f16", ".f32", 8, 8, 8, 16, 16, 16, kHalf},
                             {".m32n8k16", ".f16", ".f32", 8, 8, 8, 32, 8, 16, kHalf},
                             {".m8n32k16", ".f16", ".f32", 8, 8, 8, 8, 32, 16, kHalf},
                             {".m16n16k16", ".f16", ".f16", 8, 8, 4, 16, 16, 16, kHalf},
                             {".m32n8k16", ".f16", ".f16", 8, 8, 4, 32, 8, 16, kHalf},
                             {".m8n32k16", ".f16", ".f16", 8, 8, 4, 8, 32, 16, kHalf},
                             {".m16n16k16", ".bf16", ".f32", 4, 4, 8, 16, 16, 16, kHalf},
                             {".m32n8k16", ".bf16", ".f32", 8, 2, 8, 32, 8, 16, kHalf},
                             {".m8n32k16", ".bf16", ".f32", 2, 8, 8, 8, 32, 16, kHalf},
                             {".m16n16k16", ".s8", ".s32", 2, 2, 8, 16, 16, 16, kAll},
                             {".m32n8k16", ".u8", ".s32", 4, 1, 8, 32, 8, 16, kAll},
                             {".m8n32k16", ".s8", ".s32", 1, 4, 8, 8, 32, 16, kAll},
                             {".m16n16k8", ".tf32", ".f32", 4, 4, 8, 16, 16, 8, 0xbfffffff},
                             {".m8n8k4", ".f64", ".f64", 1, 1, 2, 8, 8, 4, 0xbfffffff},
                             {".m8n8k32", ".s4", ".s32", 1, 1, 2, 8, 8, 32, kAll, false},
                             {".m8n8k128", ".b1", ".s32", 1, 1, 2, 8, 8, 128, kAll, false}};
  for (const Kind& kind : kKinds) {
    for (const std::string rows : {"row", "col"}) {
      for (const std::string columns : {"row", "col"}) {
        if (!kind.has_layouts && (rows != "row" || columns != "col")) continue;
        const std::string type = kind.type;
        const bool is_wide = type == ".f64";
        const std::string masked = std::to_string(kind.mask);
        std::string text =
            "{ .reg .b32 s<9>; .reg " + std::string(is_wide ? ".f64" : ".b32") + " x<8>, y<8>, z<8>;\n" +
            "  .shared .align 128 .b8 tile[4096]; mov.u32 s0, %tid.x; mov.u32 s1, tile;\n"
            "  and.b32 s3, a, " +
            masked + "; and.b32 s4, b, " + masked + "; and.b32 s5, c, " + masked + "; and.b32 s6, e, " + masked +
            ";\n  mad.lo.u32 s2, s0, 32, s1; st.shared.v4.b32 [s2], {s3, s4, s5, s6};\n"
            "  st.shared.v4.b32 [s2+16], {s6, s3, s5, s4}; and.b32 s2, s0, -32; mad.lo.u32 s1, s2, 32, s1;\n"
            "  bar.warp.sync -1;\n";
        const auto stride = [](bool along_columns, std::uint32_t row, std::uint32_t column) {
          return std::to_string(along_columns ? row : column);
        };
        const std::string shape = kind.shape;
        text += "  wmma.load.a.sync.aligned." + rows + shape + ".shared" + type + " " + list("x", kind.a) +
                ", [s1], " + stride(rows == "col", kind.m, kind.k) + ";\n  wmma.load.b.sync.aligned." + columns +
                shape + ".shared" + type + " " + list("y", kind.b) + ", [s1], " +
                stride(columns == "col", kind.k, kind.n) + ";\n  wmma.load.c.sync.aligned.row" + shape +
                ".shared" + kind.sum + " " + list("z", kind.c) + ", [s1], " + std::to_string(kind.n) + ";\n";
        const auto add = [&](const std::string& rest) {
          forms.push_back({text + "  " + rest + "}", 32, {32, 32, 32, 32}, OperandRange::kBits, false});
        };
        const std::string types =
            type == ".f16" ? std::string(kind.sum) + kind.sum : std::string(kind.sum) + type + type + kind.sum;
        add("wmma.mma" + std::string(type == ".b1" ? ".xor.popc" : "") + ".sync.aligned." + rows + "." + columns +
            shape + (is_wide ? ".rn" : "") + types + " " + list("z", kind.c) + ", " + list("x", kind.a) + ", " +
            list("y", kind.b) + ", " + list("z", kind.c) + "; " + folded("z", kind.c, is_wide));
        add(folded("x", kind.a, is_wide));
        add(folded("y", kind.b, is_wide));
        if (rows == "row" && columns == "col") add(folded("z", kind.c, is_wide));
      }
    }
  }
  return forms;
}

// mma.sp on finite numbers, with metadata that is made of e: of every chunk the first, the last, or other
// elements.
inline std::vector<ScalarForm> sparse_forms() {
  std::vector<ScalarForm> forms;
  struct Kind {
    const char* name;
    bool is_deep;
    std::uint32_t selectors;
    std::uint32_t mask = 0xffffffff;  // of the bits that may be set
    bool has_halves = false;
  };
  constexpr std::uint32_t kHalf = 0xbfffbfff, kSingle = 0xbfffffff;
  constexpr Kind kKinds[] = {{"m16n8k16.row.col.f32.f16.f16.f32", false, 4, kHalf},
                             {"m16n8k32.row.col.f32.f16.f16.f32", true, 2, kHalf},
                             {"m16n8k32.row.col.f16.f16.f16.f16", true, 2, kHalf, true},
                             {"m16n8k16.row.col.f32.bf16.bf16.f32", false, 4, kHalf},
                             {"m16n8k32.row.col.f32.bf16.bf16.f32", true, 2, kHalf},
                             {"m16n8k8.row.col.f32.tf32.tf32.f32", false, 4, kSingle},
                             {"m16n8k16.row.col.f32.tf32.tf32.f32", true, 2, kSingle},
                             {"m16n8k64.row.col.f32.e4m3.e4m3.f32", true, 1, 0xbbbbbbbb},
                             {"m16n8k64.row.col.f32.e5m2.e4m3.f32", true, 1, 0xbbbbbbbb},
                             {"m16n8k32.row.col.s32.s8.u8.s32", false, 2},
                             {"m16n8k64.row.col.satfinite.s32.s8.s8.s32", true, 1},
                             {"m16n8k64.row.col.s32.u4.s4.s32", false, 2},
                             {"m16n8k128.row.col.s32.s4.s4.s32", true, 1}};
  for (const Kind& kind : kKinds) {
    const std::string name = kind.name;
    const bool is_single = name.find("tf32") != std::string::npos;
    const std::string mask = std::to_string(kind.mask);
    for (std::uint32_t selector = 0; selector < kind.selectors; ++selector) {
      std::string text = "{ .reg .b32 s<9>, m<4>;\n  and.b32 s0, a, " + mask + "; and.b32 s1, b, " + mask +
                         "; and.b32 s2, c, " + mask + "; and.b32 s3, e, " + mask +
                         ";\n  and.b32 m0, e, 0x11111111; mul.lo.u32 m1, m0, 10; shr.u32 m2, e, 1;\n"
                         "  and.b32 m2, m2, 0x11111111; not.b32 m3, m0; and.b32 m2, m2, m3; shl.b32 m2, m2, 2;\n"
                         "  add.u32 m1, m1, 0x44444444; ";
      if (!is_single) text += "add.u32 m1, m1, m2; ";
      text +=
          "mov.b32 s4, s1; mov.b32 s5, s0; mov.b32 s6, s2; mov.b32 s7, s3;\n  "
          "mma.sp::ordered_metadata.sync.aligned." +
          name + (kind.has_halves ? " {s4, s5}, " : " {s4, s5, s6, s7}, ") +
          (kind.is_deep ? "{s0, s1, s2, s3}, {s3, s0, s1, s2}" : "{s0, s1}, {s2, s3}") +
          (kind.has_halves ? ", {s4, s5}, m1, " : ", {s4, s5, s6, s7}, m1, ") + std::to_string(selector) +
          ";\n  xor.b32 s4, s4, s5; mul.lo.u32 s6, s6, 3; xor.b32 s6, s6, s7; xor.b32 d, s4, s6; }";
      forms.push_back({text, 32, {32, 32, 32, 32}, OperandRange::kBits, false});
    }
  }
  return forms;
}

// Integers narrower than their register, comparisons of halves, vectors of atomics.
inline std::vector<ScalarForm> packed_forms() {
  std::vector<ScalarForm> forms;
  const auto add = [&](std::string text, std::uint32_t d, std::vector<std::uint32_t> s,
                       OperandRange range = OperandRange::kBits) {
    forms.push_back({std::move(text), d, std::move(s), range, false});
  };
  for (const std::string types : {"u32.u32", "u32.s32", "s32.u32", "s32.s32"}) {
    for (const std::string half : {"lo.", "hi."}) add("dp2a." + half + types + " d, a, b, c;", 32, {32, 32, 32});
  }
  for (const std::string end : {"lo.u32", "lo.s32", "hi.u32", "hi.s32"}) {
    add("mul24." + end + " d, a, b;", 32, {32, 32});
    add("mad24." + end + " d, a, b, c;", 32, {32, 32, 32});
  }
  add("mad24.hi.sat.s32 d, a, b, c;", 32, {32, 32, 32});
  for (const std::string type : {"u16", "s16"}) add("cvt.pack.sat." + type + ".s32 d, a, b;", 32, {32, 32});
  for (const std::string type : {"u8", "s8", "u4", "s4", "u2", "s2"}) {
    add("cvt.pack.sat." + type + ".s32.b32 d, a, b, c;", 32, {32, 32, 32});
    add("cvt.pack.sat." + type + ".s32.b32 d, a, b, c;", 32, {32, 32, 32}, OperandRange::kSmall);
  }
  for (const std::string op : {"min", "max"}) {
    add(op + ".relu.s32 d, a, b;", 32, {32, 32});
    add(op + ".s16x2.relu d, a, b;", 32, {32, 32});
    for (const std::string end : {".xorsign.abs.f16", ".NaN.xorsign.abs.f16x2", ".ftz.xorsign.abs.f16",
                                  ".xorsign.abs.bf16x2", ".NaN.xorsign.abs.bf16"}) {
      const std::uint32_t n = end.ends_with("x2") ? 32 : 16;
      add(op + end + " d, a, b;", n, {n, n},
          end.find("bf") == std::string::npos ? OperandRange::kF16 : OperandRange::kBf16);
    }
  }
  for (const std::string op : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"}) {
    for (const std::string count : {"2", "4"}) {
      for (const std::string types : {".u32.u32.u32", ".s32.s32.s32", ".u32.s32.u32", ".s32.u32.s32"}) {
        for (const std::string end : {"", ".sat", ".add"}) {
          add(op + count + types + end + " d, a, b, c;", 32, {32, 32, 32});
        }
      }
    }
  }
  for (const std::string op : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"}) {
    for (const std::string types : {".u32.u32.u32", ".s32.s32.s32", ".u32.s32.u32", ".s32.u32.s32"}) {
      for (const std::string sat : {"", ".sat"}) {
        add(op + types + sat + " d, a.b1, b.h1;", 32, {32, 32});
        add(op + types + sat + ".add d, a.h1, b.h0, c;", 32, {32, 32, 32});
      }
      add(op + types + " d.b2, a, b.b3, c;", 32, {32, 32, 32});
      add(op + types + " d.h0, a.h1, b, c;", 32, {32, 32, 32});
    }
    add(op + ".s32.s32.s32.sat d, a, b;", 32, {32, 32});
  }
  for (const std::string op : {"vshl", "vshr"}) {
    for (const std::string types : {".u32.u32.u32", ".s32.s32.u32"}) {
      for (const std::string mode : {".clamp", ".wrap"}) {
        add(op + types + mode + " d, a, b;", 32, {32, 32}, OperandRange::kSmall);
        add(op + types + mode + ".add d, a.h1, b.b0, c;", 32, {32, 32, 32});
        add(op + types + mode + " d.b1, a, b.b2, c;", 32, {32, 32, 32});
        if (op == "vshr") add(op + types + ".sat" + mode + " d, a, b;", 32, {32, 32});
      }
    }
  }
  for (const std::string types : {".u32.u32.u32", ".s32.s32.s32", ".s32.u32.s32"}) {
    for (const std::string end : {"", ".po"}) add("vmad" + types + end + " d, a.h0, b.h1, c;", 32, {32, 32, 32});
  }
  for (const std::string end : {".sat", ".shr7", ".sat.shr15"}) {
    add("vmad.s32.s32.s32" + end + " d, a.b3, b.h1, c;", 32, {32, 32, 32});
    add("vmad.s32.s32.s32" + end + " d, a, b, c;", 32, {32, 32, 32});
  }
  for (const std::string op : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    add("vset.u32.s32." + op + " d, a.b0, b.b3;", 32, {32, 32}, OperandRange::kSmall);
    add("vset.s32.s32." + op + ".add d, a, b.h1, c;", 32, {32, 32, 32});
    add("vset.u32.u32." + op + " d.b2, a.b2, b.b2, c;", 32, {32, 32, 32});
  }
  for (const std::string op : {"vadd", "vmax", "vavrg"}) {
    for (const std::string end : {"", ".sat", ".add"}) {
      add(op + "2.s32.s32.s32" + end + " d.h0, a.h01, b.h33, c;", 32, {32, 32, 32});
      add(op + "4.u32.u32.u32" + end + " d.b31, a.b7162, b.b4567, c;", 32, {32, 32, 32});
    }
  }
  for (const std::string op : {"eq", "lt", "ge"}) {
    for (const std::string count : {"2", "4"}) {
      add("vset" + count + ".u32.s32." + op + " d, a, b, c;", 32, {32, 32, 32});
      add("vset" + count + ".s32.s32." + op + ".add d, a, b, c;", 32, {32, 32, 32});
    }
  }
  for (const std::string op : {"eq", "ne", "lt", "geu", "nan"}) {
    for (const std::string type : {"f16", "bf16"}) {
      const OperandRange range = type == "f16" ? OperandRange::kF16 : OperandRange::kBf16;
      add("set." + op + "." + type + "x2." + type + "x2 d, a, b;", 32, {32, 32}, range);
      add("set." + op + ".u32." + type + "x2 d, a, b;", 32, {32, 32}, range);
      add("set." + op + "." + type + "." + type + " d, a, b;", 16, {16, 16}, range);
      add("set." + op + ".u16." + type + " d, a, b;", 16, {16, 16}, range);
      add("set." + op + ".and.u32." + type + " d, a, b, c;", 32, {16, 16, 1}, range);
    }
    add("set." + op + ".ftz.f16x2.f16x2 d, a, b;", 32, {32, 32}, OperandRange::kF16);
    add("set." + op + ".f16.f32 d, a, b;", 16, {32, 32}, OperandRange::kF32);
  }
  for (const std::string op : {"or", "and"}) {
    add("{ .reg .pred q; .reg .b32 x; lop3." + op + ".b32 x|q, a, b, c, 0x80, e; selp.b32 d, x, 77, q; }", 32,
        {32, 32, 32, 1});
  }
  add("movmatrix.sync.aligned.m8n8.trans.b16 d, a;", 32, {32});
  // Each thread has 16 bytes of shared memory at s2.
  const std::string shared =
      "{ .reg .b32 s<9>; .reg .b64 p<4>; .reg .b128 w<4>; .shared .align 16 .b8 m[2048]; mov.u32 s0, %tid.x;\n"
      "  mov.u32 s1, m; mad.lo.u32 s2, s0, 16, s1; ";
  for (const bool is_cas : {false, true}) {
    add(shared + "mov.b64 p0, {a, b}; mov.b64 p1, {c, e}; mov.b128 w0, {p0, p1}; st.shared.b128 [s2], w0;\n" +
            (is_cas ? "  mov.b64 p2, {a, c}; mov.b128 w1, {p2, p1}; mov.b128 w2, {p1, p0};\n"
                      "  atom.shared.cas.b128 w3, [s2], w1, w2; "
                    : "  mov.b128 w1, {p1, p0}; atom.shared.exch.b128 w3, [s2], w1; ") +
            "ld.shared.v4.b32 {s3, s4, s5, s6}, [s2]; xor.b32 s3, s3, s4; mul.lo.u32 s5, s5, 3;\n"
            "  xor.b32 s5, s5, s6; xor.b32 d, s3, s5; }",
        32, {32, 32, 32, 32}, OperandRange::kSmall);
  }
  return forms;
}

// Every scalar form whose meaning can be compared, with all its modifiers.
inline std::vector<ScalarForm> scalar_forms() {
  std::vector<ScalarForm> forms = warp_forms();
  for (const std::vector<ScalarForm>& more : {wmma_forms(), sparse_forms(), packed_forms()}) {
    forms.insert(forms.end(), more.begin(), more.end());
  }
  const auto add = [&](std::string text, std::uint32_t d, std::vector<std::uint32_t> s,
                       OperandRange range = OperandRange::kBits, bool approximate = false) {
    forms.push_back({std::move(text), d, std::move(s), range, approximate});
  };
  struct IntType {
    const char* name;
    std::uint32_t bits;
  };
  const IntType integers[] = {{"u16", 16}, {"s16", 16}, {"u32", 32}, {"s32", 32}, {"u64", 64}, {"s64", 64}};
  for (const IntType& type : integers) {
    const std::string t = type.name;
    const std::uint32_t n = type.bits;
    for (const std::string op : {"add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"}) {
      add(op + "." + t + " d, a, b;", n, {n, n});
    }
    add("mad.lo." + t + " d, a, b, c;", n, {n, n, n});
    add("mad.hi." + t + " d, a, b, c;", n, {n, n, n});
    add("sad." + t + " d, a, b, c;", n, {n, n, n});
    add("shr." + t + " d, a, b;", n, {n, 32}, OperandRange::kShift);
    if (n < 64) {
      add("mul.wide." + t + " d, a, b;", 2 * n, {n, n});
      add("mad.wide." + t + " d, a, b, c;", 2 * n, {n, n, 2 * n});
    }
    if (t[0] == 's') {
      add("abs." + t + " d, a;", n, {n});
      add("neg." + t + " d, a;", n, {n});
    }
    if (n > 16) {
      add("bfind." + t + " d, a;", 32, {n});
      add("bfind.shiftamt." + t + " d, a;", 32, {n});
      add("bfe." + t + " d, a, b, c;", n, {n, 32, 32}, OperandRange::kShift);
    }
    for (const std::string op : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      add("setp." + op + "." + t + " d, a, b;", 1, {n, n}, OperandRange::kSmall);
      add("set." + op + ".u32." + t + " d, a, b;", 32, {n, n}, OperandRange::kSmall);
    }
    for (const IntType& from : integers) {
      add("cvt." + t + "." + from.name + " d, a;", n, {from.bits});
      // The assembler refuses .sat where every value fits.
      const bool same_sign = t[0] == from.name[0];
      const bool fits = same_sign ? n >= from.bits : from.name[0] == 'u' && n > from.bits;
      if (!fits) add("cvt.sat." + t + "." + from.name + " d, a;", n, {from.bits});
    }
    for (const std::string mode : {"rni", "rzi", "rmi", "rpi"}) {
      add("cvt." + mode + "." + t + ".f32 d, a;", n, {32}, OperandRange::kF32);
      add("cvt." + mode + ".ftz." + t + ".f32 d, a;", n, {32}, OperandRange::kF32);
      add("cvt." + mode + "." + t + ".f64 d, a;", n, {64}, OperandRange::kF64);
      add("cvt." + mode + "." + t + ".f16 d, a;", n, {16}, OperandRange::kF16);
    }
    for (const std::string mode : {"rn", "rz", "rm", "rp"}) {
      add("cvt." + mode + ".f32." + t + " d, a;", 32, {n});
      add("cvt." + mode + ".f64." + t + " d, a;", 64, {n});
      add("cvt." + mode + ".f16." + t + " d, a;", 16, {n});
    }
  }
  add("add.sat.s32 d, a, b;", 32, {32, 32});
  add("sub.sat.s32 d, a, b;", 32, {32, 32});
  add("mad.hi.sat.s32 d, a, b, c;", 32, {32, 32, 32});
  add("setp.lo.u32 d, a, b;", 1, {32, 32}, OperandRange::kSmall);
  add("setp.hs.u32 d, a, b;", 1, {32, 32}, OperandRange::kSmall);
  add("{ add.cc.u32 d, a, b; addc.u32 d, c, 0; }", 32, {32, 32, 32});
  add("{ sub.cc.u32 d, a, b; subc.u32 d, c, 0; }", 32, {32, 32, 32});
  add("{ mad.lo.cc.u32 d, a, b, c; madc.hi.u32 d, a, b, 0; }", 32, {32, 32, 32});
  for (const std::uint32_t n : {16u, 32u, 64u}) {
    const std::string t = ".b" + std::to_string(n);
    for (const std::string op : {"and", "or", "xor"}) add(op + t + " d, a, b;", n, {n, n});
    add("not" + t + " d, a;", n, {n});
    add("cnot" + t + " d, a;", n, {n}, OperandRange::kSmall);
    add("shl" + t + " d, a, b;", n, {n, 32}, OperandRange::kShift);
    add("shr" + t + " d, a, b;", n, {n, 32}, OperandRange::kShift);
    add("selp" + t + " d, a, b, c;", n, {n, n, 1});
    if (n == 16) continue;
    add("popc" + t + " d, a;", 32, {n});
    add("clz" + t + " d, a;", 32, {n});
    add("brev" + t + " d, a;", n, {n});
    add("bfi" + t + " d, a, b, c, e;", n, {n, n, 32, 32}, OperandRange::kShift);
  }
  for (const int table : {0, 0x96, 0xe8, 0xca, 0x1b, 0xff}) {
    add("lop3.b32 d, a, b, c, " + std::to_string(table) + ";", 32, {32, 32, 32});
  }
  for (const std::string side : {"l", "r"}) {
    for (const std::string mode : {"wrap", "clamp"}) {
      add("shf." + side + "." + mode + ".b32 d, a, b, c;", 32, {32, 32, 32}, OperandRange::kShift);
    }
  }
  for (const std::string mode : {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"}) {
    add("prmt.b32" + mode + " d, a, b, c;", 32, {32, 32, 32});
  }
  for (const std::string types : {"u32.u32", "u32.s32", "s32.u32", "s32.s32"}) {
    add("dp4a." + types + " d, a, b, c;", 32, {32, 32, 32});
  }
  // Floats.
  for (const std::string mode : {"rn", "rz", "rm", "rp"}) {
    for (const std::string end : {".f32", ".ftz.f32", ".sat.f32", ".ftz.sat.f32"}) {
      for (const std::string op : {"add", "sub", "mul"}) {
        add(op + "." + mode + end + " d, a, b;", 32, {32, 32}, OperandRange::kF32);
      }
      add("fma." + mode + end + " d, a, b, c;", 32, {32, 32, 32}, OperandRange::kF32);
    }
    for (const std::string end : {".f32", ".ftz.f32"}) {
      add("div." + mode + end + " d, a, b;", 32, {32, 32}, OperandRange::kF32);
      add("sqrt." + mode + end + " d, a;", 32, {32}, OperandRange::kF32);
      add("rcp." + mode + end + " d, a;", 32, {32}, OperandRange::kF32);
    }
    for (const std::string op : {"add", "sub", "mul", "div"}) {
      add(op + "." + mode + ".f64 d, a, b;", 64, {64, 64}, OperandRange::kF64);
    }
    add("fma." + mode + ".f64 d, a, b, c;", 64, {64, 64, 64}, OperandRange::kF64);
    add("sqrt." + mode + ".f64 d, a;", 64, {64}, OperandRange::kF64);
    add("rcp." + mode + ".f64 d, a;", 64, {64}, OperandRange::kF64);
    add("cvt." + mode + ".f32.f64 d, a;", 32, {64}, OperandRange::kF64);
    add("cvt." + mode + "i.f32.f32 d, a;", 32, {32}, OperandRange::kF32);
    add("cvt." + mode + "i.f64.f64 d, a;", 64, {64}, OperandRange::kF64);
    add("cvt." + mode + ".f16.f32 d, a;", 16, {32}, OperandRange::kF32);
  }
  for (const std::string op : {"min", "max"}) {
    for (const std::string end : {".f32", ".ftz.f32", ".NaN.f32", ".xorsign.abs.f32", ".NaN.xorsign.abs.f32"}) {
      add(op + end + " d, a, b;", 32, {32, 32}, OperandRange::kF32);
    }
    add(op + ".f64 d, a, b;", 64, {64, 64}, OperandRange::kF64);
    for (const std::string end : {".f16", ".NaN.f16", ".f16x2", ".bf16", ".NaN.bf16x2"}) {
      const std::uint32_t n = end.ends_with("x2") ? 32 : 16;
      add(op + end + " d, a, b;", n, {n, n},
          end.find("bf") == std::string::npos ? OperandRange::kF16 : OperandRange::kBf16);
    }
  }
  for (const std::string op : {"abs", "neg"}) {
    add(op + ".f32 d, a;", 32, {32}, OperandRange::kF32);
    add(op + ".ftz.f32 d, a;", 32, {32}, OperandRange::kF32);
    add(op + ".f64 d, a;", 64, {64}, OperandRange::kF64);
    add(op + ".f16x2 d, a;", 32, {32}, OperandRange::kF16);
    add(op + ".bf16x2 d, a;", 32, {32}, OperandRange::kBf16);
  }
  add("copysign.f32 d, a, b;", 32, {32, 32}, OperandRange::kF32);
  for (const std::string what : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"}) {
    add("testp." + what + ".f32 d, a;", 1, {32}, OperandRange::kF32);
  }
  for (const std::string op :
       {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}) {
    add("setp." + op + ".f32 d, a, b;", 1, {32, 32}, OperandRange::kF32);
    add("setp." + op + ".ftz.f32 d, a, b;", 1, {32, 32}, OperandRange::kF32);
    add("setp." + op + ".f64 d, a, b;", 1, {64, 64}, OperandRange::kF64);
    add("setp." + op + ".f16 d, a, b;", 1, {16, 16}, OperandRange::kF16);
    add("setp." + op + ".and.f32 d, a, b, c;", 1, {32, 32, 1}, OperandRange::kF32);
  }
  for (const std::string op : {"rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos"}) {
    add(op + ".approx.f32 d, a;", 32, {32}, OperandRange::kF32, true);
    add(op + ".approx.ftz.f32 d, a;", 32, {32}, OperandRange::kF32, true);
  }
  add("tanh.approx.f32 d, a;", 32, {32}, OperandRange::kF32, true);
  add("div.approx.f32 d, a, b;", 32, {32, 32}, OperandRange::kF32, true);
  add("div.full.f32 d, a, b;", 32, {32, 32}, OperandRange::kF32, true);
  // Halves.
  for (const std::string end : {".f16", ".f16x2", ".ftz.f16", ".sat.f16x2", ".bf16", ".bf16x2"}) {
    const std::uint32_t n = end.ends_with("x2") ? 32 : 16;
    const OperandRange range = end.find("bf") == std::string::npos ? OperandRange::kF16 : OperandRange::kBf16;
    for (const std::string op : {"add.rn", "sub.rn", "mul.rn"}) add(op + end + " d, a, b;", n, {n, n}, range);
    add("fma.rn" + end + " d, a, b, c;", n, {n, n, n}, range);
  }
  add("fma.rn.relu.f16x2 d, a, b, c;", 32, {32, 32, 32}, OperandRange::kF16);
  for (const std::string type : {"f16x2", "bf16x2"}) {
    // Where a bit of e says so, an operand is the NaN that fma.oob makes a zero of.
    const std::string start = "{ .reg .b32 x, y; .reg .pred q; and.b32 x, e, 3; ";
    const std::string end = "; fma.rn.oob." + type + " d, ";
    const OperandRange range = type == "f16x2" ? OperandRange::kF16 : OperandRange::kBf16;
    add(start + "setp.eq.u32 q, x, 1; selp.b32 x, 0x7ff77ff7, a, q" + end + "x, b, c; }", 32, {32, 32, 32, 32},
        range);
    add(start + "setp.eq.u32 q, x, 1; selp.b32 x, 0x7ff7fff7, b, q" + end + "a, x, c; }", 32, {32, 32, 32, 32},
        range);
    add(start + "setp.eq.u32 q, x, 1; selp.b32 x, 0x7ff77ff7, c, q" + end + "a, b, x; }", 32, {32, 32, 32, 32},
        range);
  }
  add("fma.rn.relu.bf16x2 d, a, b, c;", 32, {32, 32, 32}, OperandRange::kBf16);
  // Conversions of narrow formats.
  add("cvt.f32.f16 d, a;", 32, {16}, OperandRange::kF16);
  add("cvt.f32.bf16 d, a;", 32, {16}, OperandRange::kBf16);
  add("cvt.f64.f32 d, a;", 64, {32}, OperandRange::kF32);
  add("cvt.ftz.f64.f32 d, a;", 64, {32}, OperandRange::kF32);
  add("cvt.f64.f16 d, a;", 64, {16}, OperandRange::kF16);
  add("cvt.rn.f16.f64 d, a;", 16, {64}, OperandRange::kF64);
  for (const std::string mode : {"rn", "rz"}) {
    add("cvt." + mode + ".bf16.f32 d, a;", 16, {32}, OperandRange::kF32);
    for (const std::string relu : {"", ".relu"}) {
      add("cvt." + mode + relu + ".f16x2.f32 d, a, b;", 32, {32, 32}, OperandRange::kF32);
      add("cvt." + mode + relu + ".bf16x2.f32 d, a, b;", 32, {32, 32}, OperandRange::kF32);
    }
    add("cvt." + mode + ".tf32.f32 d, a;", 32, {32}, OperandRange::kF32);
  }
  add("cvt.rna.tf32.f32 d, a;", 32, {32}, OperandRange::kF32);
  for (const std::string type : {"e4m3x2", "e5m2x2"}) {
    for (const std::string relu : {"", ".relu"}) {
      add("cvt.rn.satfinite" + relu + "." + type + ".f32 d, a, b;", 16, {32, 32}, OperandRange::kF32);
      add("cvt.rn.satfinite" + relu + "." + type + ".f16x2 d, a;", 16, {32}, OperandRange::kF16);
      add("cvt.rn" + relu + ".f16x2." + type + " d, a;", 32, {16});
    }
  }
  return forms;
}

// A fixed sequence of operands: special values first, then random ones.
class OperandSource {
 public:
  explicit OperandSource(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

  std::uint64_t operand(OperandRange range, std::size_t index) {
    const std::uint64_t random = next();
    const bool special = random % 3 == 0;
    const std::size_t pick = static_cast<std::size_t>(next());
    switch (range) {
      case OperandRange::kF32: {
        constexpr std::uint32_t kValues[] = {
            0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000,
            0x3f000000, 0x3fc00000, 0x40200000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
            0xffc00001, 0x7f800001, 0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0x33800000, 0x477fe000};
        if (special) return kValues[pick % std::size(kValues)];
        // Half of them near one, so that sums do not vanish in the larger one.
        return random & 1 ? (random & 0x80ffffff) | 0x3e000000 | (pick & 0x01800000) : random & 0xffffffff;
      }
      case OperandRange::kF64: {
        constexpr std::uint64_t kValues[] = {0,
                                             0x8000000000000000,
                                             1,
                                             0x000fffffffffffff,
                                             0x0010000000000000,
                                             0x3ff0000000000000,
                                             0xbff0000000000000,
                                             0x3fe0000000000000,
                                             0x3ff8000000000000,
                                             0x7fefffffffffffff,
                                             0x7ff0000000000000,
                                             0xfff0000000000000,
                                             0x7ff8000000000000,
                                             0x41e0000000000000,
                                             0xc1e0000000000000,
                                             0x43e0000000000000,
                                             0xc3e0000000000000,
                                             0x47efffffe0000000,
                                             0x47f0000000000000,
                                             0x36a0000000000000,
                                             0x3810000000000000,
                                             0x380fffffffffffff};
        if (special) return kValues[pick % std::size(kValues)];
        return random & 1 ? (random & 0x800fffffffffffff) | 0x3fe0000000000000 | (pick & 0x0030000000000000)
                          : random;
      }
      case OperandRange::kF16: {
        constexpr std::uint16_t kValues[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00,
                                             0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x3800, 0x5bf8};
        if (special)
          return kValues[pick % std::size(kValues)] | std::uint64_t{kValues[pick / 64 % std::size(kValues)]}
                                                          << 16;
        return random;
      }
      case OperandRange::kBf16: {
        constexpr std::uint16_t kValues[] = {0,      0x8000, 1,      0x8001, 0x007f, 0x0080, 0x3f80, 0xbf80,
                                             0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x3f00, 0x4040};
        if (special)
          return kValues[pick % std::size(kValues)] | std::uint64_t{kValues[pick / 64 % std::size(kValues)]}
                                                          << 16;
        return random & 0x3fff3fff;
      }
      case OperandRange::kShift: return index == 0 || (random & 64) != 0 ? random : random % 70;
      case OperandRange::kSmall: return static_cast<std::uint64_t>(static_cast<std::int64_t>(random % 5) - 2);
      case OperandRange::kBits: break;
    }
    constexpr std::uint64_t kValues[] = {0,
                                         1,
                                         ~std::uint64_t{0},
                                         0x7fff,
                                         0x8000,
                                         0xffff,
                                         0x7fffffff,
                                         0x80000000,
                                         0xffffffff,
                                         0x7fffffffffffffff,
                                         0x8000000000000000,
                                         2,
                                         31,
                                         32,
                                         63,
                                         255};
    return special ? kValues[pick % std::size(kValues)] : random;
  }

 private:
  std::uint64_t state_;
};

}  // namespace heddle::test
