// Images that go with a message: uploaded when they are attached, named by it when it is sent.

/** A picture of a message that is written. */
export type Image = {
  name: string;
  /** What is shown of it. */
  url: string;
  /** How much of it is there, from 0 to 1; why it did not get there, null while it may. */
  progress: number;
  failure: string | null;
  /** What names it in messages, once it is there. */
  kept: Promise<string>;
};

/** What one may have in bytes. */
export const largestImage = 5 * 1024 * 1024;
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

/** asTaken reports whether a file can be sent unchanged. */
export const asTaken = (type: string, bytes: number, room: number) => takes.test(type) && bytes <= room;
