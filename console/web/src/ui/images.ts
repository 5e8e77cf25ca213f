// Reads images somebody pastes, drops or picks, as small as they have to be.
import { asTaken, isImage, sizes, type Image } from "../core/images";

/** imagesOf are the image files of a paste or a drop. */
export const imagesOf = (data: DataTransfer | null): File[] => [...(data?.files ?? [])].filter((file) => isImage(file.type));

/** readImage makes a data URL of at most `room` characters; null when it cannot be that small. */
export async function readImage(file: File, room: number): Promise<Image | null> {
  if (asTaken(file.type, file.size, room)) return { name: file.name, url: await dataURL(file) };
  const bitmap = await createImageBitmap(file);
  try {
    for (const { width, height } of sizes(bitmap.width, bitmap.height)) {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [width, height];
      const context = canvas.getContext("2d")!;
      context.fillStyle = "#fff"; // JPEG has no holes
      context.fillRect(0, 0, width, height);
      context.drawImage(bitmap, 0, 0, width, height);
      const url = canvas.toDataURL("image/jpeg", 0.85);
      if (url.length <= room) return { name: file.name, url };
    }
    return null;
  } finally {
    bitmap.close();
  }
}

function dataURL(file: File): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result as string);
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });
}
