// Sends a file with its progress, which fetch does not report.
import { text } from "./text";
import { ApiError } from "./core/api";

/** upload posts a file and reports its progress, from 0 to 1. Failures are those of Api. */
export function upload<T>(url: string, file: Blob, progress: (share: number) => void): Promise<T> {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => progress(total > 0 ? loaded / total : 0);
    request.onerror = () => failed(new TypeError(text.composer.unsent));
    request.onload = () => {
      let answer: Record<string, unknown> = {};
      try {
        answer = JSON.parse(request.responseText) as Record<string, unknown>;
      } catch {
        answer = { message: request.responseText.slice(0, 200) };
      }
      if (request.status < 300) done(answer as T);
      else failed(new ApiError(request.status, answer, new URL(url).pathname));
    };
    request.send(file);
  });
}
