import { expect, test } from "vitest";
import { fromItem, fromRest } from "../adapters/wire";
import { picturesOf, textAndPictures } from "./pictures";

const address = "/api/sessions/01a00000-0000-7000-8000-000000000000/images/0198c0de-0000-7000-8000-000000000009";
const url = "data:image/png;base64,iVBORw0KGgo=";

test("a message of a snapshot names its pictures, which are no part of its text", () => {
  const entry = fromRest({ messageId: "m", turnId: "t", role: "user", type: "userMessage", content: `look\n[image] ${address}\n[image] ${address}`, status: "complete" });
  expect(picturesOf(entry)).toEqual([address, address]);
  expect(textAndPictures(entry.texts.text!).text).toBe("look");
});

test("a message of a frame brings its pictures, and its text says nothing of them", () => {
  const entry = fromItem({ id: "m", type: "userMessage", content: [{ type: "text", text: "look" }, { type: "image", url }] }, "t", true);
  expect([picturesOf(entry), textAndPictures(entry.texts.text!).text]).toEqual([[url], "look"]);
});

test("pictures of tools are found in each of the shapes there are", () => {
  const data = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };
  expect(picturesOf(fromItem({ id: "a", type: "mcpToolCall", result: { content: [{ type: "text", text: "x" }, data] } }, "t", true))).toEqual([url]);
  expect(picturesOf(fromItem({ id: "b", type: "dynamicToolCall", contentItems: [{ type: "inputImage", imageUrl: url }] }, "t", true))).toEqual([url]);
  expect(picturesOf(fromItem({ id: "c", type: "imageGeneration", result: "iVBORw0KGgo=" }, "t", true))).toEqual([url]);
});

test("what is no picture of this server is never shown as one", () => {
  for (const line of ["[image] https://elsewhere/x.png", "[image] /api/sessions/../x", `see [image] ${address}`]) expect(textAndPictures(line)).toEqual({ text: line, pictures: [] });
  for (const bad of ["data:image/svg+xml;base64,PHN2Zz4=", "https://elsewhere/x.png", "javascript:1"]) {
    expect(picturesOf(fromItem({ id: "m", type: "userMessage", content: [{ type: "image", url: bad }] }, "t", true))).toEqual([]);
  }
});
