import { expect, test } from "vitest";
import { plain, styled } from "./ansi";

test("colors and weight of a terminal become styles, everything else is left out", () => {
  expect(styled("ok \u001b[1;32mPASS\u001b[0m \u001b[91mx\u001b[39my\u001b[2K\u001b]0;title\u0007z")).toEqual([
    { text: "ok ", style: "" }, { text: "PASS", style: "ansi-green ansi-bold" }, { text: " ", style: "" }, { text: "x", style: "ansi-red" }, { text: "y", style: "" }, { text: "z", style: "" },
  ]);
  expect(styled("\u001b[38;5;31mtext\u001b[48;2;1;2;31mmore\u001b[m")).toEqual([{ text: "text", style: "" }, { text: "more", style: "" }]);
  expect(plain("\u001b[31mred\u001b[0m\u001b[?25l")).toBe("red");
});
