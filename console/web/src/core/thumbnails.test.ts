import { expect, test } from "vitest";
import { fileName } from "./thumbnails";

test("the name of a file is read from its header, however it is written", () => {
  const names = ["inline; filename=screen.png", 'inline; filename="my screen.png"', 'inline; filename="a \\"b\\".png"', "inline; filename*=utf-8''%C3%BCber%20alles.png", "inline", null];
  expect(names.map(fileName)).toEqual(["screen.png", "my screen.png", 'a "b".png', "über alles.png", "", ""]);
});
