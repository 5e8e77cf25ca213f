// Pictures of a transcript: what a message or a tool's result shows besides its text.
import type { Entry } from "./types";

/** What a transcript can show: addresses of this server, or the bytes that a frame has. */
const kept = /^\[image\] (\/api\/sessions\/[^\s/]+\/images\/[0-9a-f-]{36})$/;
const bytes = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;
const most = 20;

/** textAndPictures parts a text into what is read and the pictures it names. */
export function textAndPictures(text: string): { text: string; pictures: string[] } {
  if (!text.includes("[image] /api/")) return { text, pictures: [] };
  const pictures: string[] = [];
  const lines = text.split("\n").filter((line) => {
    const found = kept.exec(line);
    if (found) pictures.push(found[1]!);
    return !found;
  });
  return { text: lines.join("\n"), pictures };
}

type Part = { type?: string; data?: string; mimeType?: string; url?: string; imageUrl?: string; image_url?: string };

function pictureOf(part: Part): string | null {
  const url = part.url ?? part.imageUrl ?? part.image_url ?? (part.data && part.mimeType ? `data:${part.mimeType};base64,${part.data}` : "");
  return bytes.test(url) ? url : null;
}

/** picturesIn are those whose bytes an item of a frame has. */
export function picturesIn(item: Record<string, unknown> | undefined): string[] {
  const result = item?.result as { content?: unknown } | string | null | undefined;
  if (item?.type === "imageGeneration" && typeof result === "string") return [`data:image/png;base64,${result}`].filter((url) => bytes.test(url));
  const parts = [item?.content, item?.contentItems, typeof result === "object" ? result?.content : undefined].flatMap((list) => (Array.isArray(list) ? list : []));
  return parts.flatMap((part: Part | string) => (part && typeof part === "object" ? (pictureOf(part) ?? []) : [])).slice(0, most);
}

/** picturesOf are those of an entry: named by a snapshot, else those a frame brought. */
export function picturesOf(entry: Entry): string[] {
  const named = textAndPictures(entry.texts.text ?? "").pictures;
  return named.length > 0 ? named : picturesIn(entry.item);
}
