import { rm } from 'node:fs/promises';
import type { Request } from 'parley-forum';
import { extensionsOf, formatOf, picturesOf, type Format } from './formats.ts';
import { checkSignature, fileProblem } from './signature-check.ts';
import type { MultipartReader, ReceivedFile, ReceivedPart } from './multipart-reader.ts';
import { parseFileName } from './file-names.ts';
import type { Picture, PictureCopy, Pictures } from './pictures.ts';

/** A file that may be stored as it is at `path`. */
export interface ProcessedFile {
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  /** Of the file as it was received. */
  readonly sha256: string;
  readonly width?: number;
  readonly height?: number;
  readonly copies?: readonly PictureCopy[];
}
interface UploadProcessorDeps {
  readonly reader: MultipartReader;
  readonly pictures: Pictures;
  /** The kinds that are allowed. */
  types(): readonly string[];
}

/** Turns a received file into one that may be stored. */
export class UploadProcessor {
  readonly #deps: UploadProcessorDeps;

  constructor(deps: UploadProcessorDeps) {
    this.#deps = deps;
  }

  /** Any allowed type. Throws 400 naming `file` where its bytes, its name and the settings do not agree. */
  async upload(req: Request, part: ReceivedPart): Promise<ProcessedFile> {
    const { reader, pictures, types } = this.#deps;
    const file = reader.fileOf(part);
    const { stem, format } = await checkFile(file, types());
    const { sha256 } = file;
    if (!format.picture)
      return { path: file.path, name: `${stem}.${format.extensions[0]}`, type: format.type, size: file.size, sha256 };
    const path = temporaryPath(req, file);
    const picture = await pictures.rewrite(file.path, path, format);
    const copies = await pictures.copies(path, picture);
    for (const copy of copies) removeLater(req, copy.path);
    return { path, ...storedAs(stem, picture), copies, sha256 };
  }

  /** A member's avatar: any allowed type of picture. */
  async avatar(req: Request, part: ReceivedPart): Promise<ProcessedFile> {
    const { reader, pictures, types } = this.#deps;
    const file = reader.fileOf(part);
    await checkFile(file, picturesOf(types()));
    const path = temporaryPath(req, file);
    return { path, ...storedAs('avatar', await pictures.avatar(file.path, path)), sha256: file.sha256 };
  }
}

const storedAs = (
  stem: string,
  { extension, type, size, width, height }: Picture,
): Omit<ProcessedFile, 'path' | 'sha256'> => ({
  name: `${stem}.${extension}`,
  type,
  size,
  width,
  height,
});

async function checkFile(
  { path, name, size }: ReceivedFile,
  types: readonly string[],
): Promise<{ readonly stem: string; readonly format: Format }> {
  if (name.includes('\0')) throw fileProblem('must have a name without the character U+0000');
  const { stem, extension } = parseFileName(name);
  const format = formatOf(extension, types);
  if (!format) throw fileProblem(`must end in one of: ${extensionsOf(types).join(', ')}`);
  if (size === 0) throw fileProblem('is empty');
  await checkSignature(path, format);
  return { stem, format };
}

/** Next to the file. */
function temporaryPath(req: Request, { path }: ReceivedFile): string {
  const made = `${path}.new`;
  removeLater(req, made);
  return made;
}

/** When the request ends, unless it was moved away. */
const removeLater = (req: Request, path: string): void =>
  void req.res?.once('close', () => void rm(path, { force: true }).catch(() => undefined));
