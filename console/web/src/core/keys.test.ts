import { expect, test } from "vitest";
import { Chord } from "./keys";

test("g and a letter go somewhere, if they come one after another", () => {
  let now = 0;
  const chord = new Chord(() => now);
  const typed = (keys: string) => [...keys].map((key) => chord.press(key).to).filter(Boolean).join();
  expect(typed("gi")).toBe("/inbox");
  expect(typed("i")).toBe("");
  expect(typed("gxgs")).toBe("/extensions,/sessions");
  expect(typed("gyi")).toBe("");
  expect(typed("ggj")).toBe("/jobs");
  chord.press("g");
  now += 2000;
  expect(chord.press("i").to).toBeNull();
});
