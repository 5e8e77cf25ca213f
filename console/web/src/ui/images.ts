// Reads images that the user pastes, drops or picks, as small as they have to be.
import { asTaken, isImage, largestImage, sizes } from "../core/images";

/** imagesOf are the image files of a paste or a drop. */
export const imagesOf = (data: DataTransfer | null): File[] => [...(data?.files ?? [])].filter((file) => isImage(file.type));

/** readImage is a picture as it may be uploaded; null when it cannot be that small. */
export async function readImage(file: File): Promise<Blob | null> {
  if (asTaken(file.type, file.size, largestImage)) return file;
  const bitmap = await createImageBitmap(file);
  try {
    for (const { width, height } of sizes(bitmap.width, bitmap.height)) {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [width, height];
      const context = canvas.getContext("2d")!;
      context.fillStyle = "#fff"; // JPEG has no holes
      context.fillRect(0, 0, width, height);
      context.drawImage(bitmap, 0, 0, width, height);
      const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/jpeg", 0.85));
      if (blob && blob.size <= largestImage) return blob;
    }
    return null;
  } finally {
    bitmap.close();
  }
}
