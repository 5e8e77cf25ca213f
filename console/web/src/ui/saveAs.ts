/** saveAs has the browser save a file. */
export function saveAs(name: string, type: string, file: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([file], { type: `${type};charset=utf-8` }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
