import { expect, test } from "vitest";
import { asTaken, largestImage, sizes } from "./images";

test("an image is made smaller step by step, and never larger or flat", () => {
  expect(sizes(4096, 1024)[0]).toEqual({ width: 2048, height: 512 });
  expect(sizes(100, 50)).toEqual(Array(5).fill({ width: 100, height: 50 }));
  expect(sizes(5000, 1).at(-1)).toEqual({ width: 512, height: 1 });
});

test("what the server takes goes as it is when there is room", () => {
  expect(asTaken("image/png", largestImage, largestImage)).toBe(true);
  expect(asTaken("image/png", largestImage + 1, largestImage)).toBe(false);
  expect(asTaken("image/svg+xml", 10, largestImage)).toBe(false);
});
