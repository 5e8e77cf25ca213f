// Small versions of stored pictures, with the names of their files.
import type { Api } from "./api";

export type Thumbnail = { src: string; /** The name of the file, "" where the server has none. */ name: string };

/** How many are kept, so that they stand at once when one scrolls back. */
const most = 200;
/** unnamed is the name of pictures that came without one. */
const unnamed = "image";

/** fileName reads the name of a file from a Content-Disposition. */
export function fileName(disposition: string | null): string {
  const encoded = /filename\*=utf-8''([^;]+)/i.exec(disposition ?? "");
  if (encoded) return decodeURIComponent(encoded[1]!);
  const plain = /filename=(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(disposition ?? "");
  return (plain?.[1]?.replace(/\\(.)/g, "$1") ?? plain?.[2] ?? "").trim();
}

export class Thumbnails {
  private readonly kept = new Map<string, Thumbnail>();

  constructor(private readonly api: Api) {}

  /** of is one that is kept. */
  of(path: string): Thumbnail | undefined {
    return this.kept.get(path);
  }

  /** read reads one from the server. */
  async read(path: string): Promise<Thumbnail> {
    const answer = await fetch(this.api.url(`${path}?size=small`), { credentials: "same-origin" });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
    const name = fileName(answer.headers.get("Content-Disposition"));
    const made = { src: URL.createObjectURL(await answer.blob()), name: name === unnamed ? "" : name };
    this.kept.set(path, made);
    for (const [old, { src }] of this.kept) {
      if (this.kept.size <= most) break;
      URL.revokeObjectURL(src); // what is shown of it stays
      this.kept.delete(old);
    }
    return made;
  }
}
