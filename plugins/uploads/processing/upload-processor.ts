import { rm } from 'node:fs/promises';
import type { Request } from 'parley-forum';
import { extensionsOf, formatOf, picturesOf, type Format } from './formats.ts';
import { checkSignature, fileProblem } from './signature-check.ts';
import type { MultipartReader, ReceivedFile } from './multipart-reader.ts';
import { parseFileName } from './file-names.ts';
import type { Pictures } from './pictures.ts';

/** A file that may be stored as it is at `path`. */
export interface ProcessedFile {
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly width?: number;
  readonly height?: number;
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
  async upload(req: Request): Promise<ProcessedFile> {
    const { reader, pictures, types } = this.#deps;
    const file = await reader.file(req);
    const { stem, format } = await checkFile(file, types());
    if (!format.picture)
      return { path: file.path, name: `${stem}.${format.extensions[0]}`, type: format.type, size: file.size };
    const path = temporaryPath(req, file);
    const { extension, ...picture } = await pictures.rewrite(file.path, path, format);
    return { path, name: `${stem}.${extension}`, ...picture };
  }

  /** A member's avatar: any allowed type of picture. */
  async avatar(req: Request): Promise<ProcessedFile> {
    const { reader, pictures, types } = this.#deps;
    const file = await reader.file(req);
    await checkFile(file, picturesOf(types()));
    const path = temporaryPath(req, file);
    const { extension, ...picture } = await pictures.avatar(file.path, path);
    return { path, name: `avatar.${extension}`, ...picture };
  }
}

async function checkFile(
  { path, name, size }: ReceivedFile,
  types: readonly string[],
): Promise<{ readonly stem: string; readonly format: Format }> {
  const { stem, extension } = parseFileName(name);
  const format = formatOf(extension, types);
  if (!format) throw fileProblem(`must end in one of: ${extensionsOf(types).join(', ')}`);
  if (size === 0) throw fileProblem('is empty');
  await checkSignature(path, format);
  return { stem, format };
}

/** Next to the file; also removed when the request ends, unless it was moved away. */
function temporaryPath(req: Request, { path }: ReceivedFile): string {
  const made = `${path}.new`;
  req.res?.once('close', () => void rm(made, { force: true }).catch(() => undefined));
  return made;
}
