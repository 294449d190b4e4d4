import type { Request } from 'parley-forum';
import { extensionsOf, formatOf, picturesOf, type Format } from './formats.ts';
import { checkSignature, fileProblem } from './signature-check.ts';
import type { MultipartReader, ReceivedFile, ReceivedPart } from './multipart-reader.ts';
import { parseFileName } from './file-names.ts';
import type { Picture, PictureCopy, Pictures } from './pictures.ts';
import { removeWithRequest } from './temporary-files.ts';

/** A file at `path` that may be stored as it is. */
export interface ProcessedFile {
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  /** Hash of the file as it was received. */
  readonly sha256: string;
  readonly width?: number;
  readonly height?: number;
  readonly copies?: readonly PictureCopy[];
}
interface UploadProcessorDeps {
  readonly reader: MultipartReader;
  readonly pictures: Pictures;
  /** The allowed kinds of files. */
  types(): readonly string[];
}

/** Turns a received file into one that may be stored. */
export class UploadProcessor {
  readonly #deps: UploadProcessorDeps;

  constructor(deps: UploadProcessorDeps) {
    this.#deps = deps;
  }

  /** Accepts any allowed type. Throws 400 naming `file` if its bytes, its name and the settings do not agree. */
  async upload(req: Request, part: ReceivedPart): Promise<ProcessedFile> {
    const { reader, pictures, types } = this.#deps;
    const file = reader.fileOf(part);
    const { stem, format } = await checkFile(file, types());
    const { sha256 } = file;
    if (!format.picture)
      return { path: file.path, name: `${stem}.${format.extensions[0]}`, type: format.type, size: file.size, sha256 };
    const path = besides(file);
    const picture = await pictures.rewrite(file.path, path, format).finally(() => removeWithRequest(req, path));
    const copies = await pictures.copies(path, picture);
    for (const copy of copies) removeWithRequest(req, copy.path);
    return { path, ...storedAs(stem, picture), copies, sha256 };
  }

  /** A member's avatar: any allowed type of picture. */
  async avatar(req: Request, part: ReceivedPart): Promise<ProcessedFile> {
    const { reader, pictures, types } = this.#deps;
    const file = reader.fileOf(part);
    await checkFile(file, picturesOf(types()));
    const path = besides(file);
    const picture = await pictures.avatar(file.path, path).finally(() => removeWithRequest(req, path));
    return { path, ...storedAs('avatar', picture), sha256: file.sha256 };
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

/** The path of the file that is generated from a received one. */
const besides = ({ path }: ReceivedFile): string => `${path}.new`;
