// Images that go with a message, as data URLs of what the server takes.

/** A picture of a message that is written. */
export type Image = { name: string; url: string };

/** What a message may carry in images, in characters: a request of the server is at most 1 MiB. */
export const mostImages = 900_000;
const takes = /^image\/(png|jpeg|gif|webp)$/;

/** sizes are those an image is tried in, largest first, until its data fits. */
export function sizes(width: number, height: number): { width: number; height: number }[] {
  const made = [];
  for (const longest of [2048, 1568, 1024, 768, 512]) {
    const by = Math.min(1, longest / Math.max(width, height));
    made.push({ width: Math.max(1, Math.round(width * by)), height: Math.max(1, Math.round(height * by)) });
  }
  return made;
}

export const isImage = (type: string) => type.startsWith("image/");

/** asTaken tells whether a file can go as it is. */
export const asTaken = (type: string, bytes: number, room: number) => takes.test(type) && bytes * 4 / 3 + 64 <= room;
