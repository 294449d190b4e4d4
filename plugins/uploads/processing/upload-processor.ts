import { rm } from 'node:fs/promises';
import type { Request } from 'parley-forum';
import { extensionsOf, formatOf, picturesOf, type Format } from './formats.ts';
import { inspect, refusal } from './signature-check.ts';
import type { Intake, Received } from './multipart-reader.ts';
import { fileName } from './file-names.ts';
import type { Pictures } from './pictures.ts';

/** A file that may be kept as it lies at `path`. */
export interface Prepared {
  readonly path: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly width?: number;
  readonly height?: number;
}
interface PreparingParts {
  readonly intake: Intake;
  readonly pictures: Pictures;
  /** The kinds that are allowed. */
  types(): readonly string[];
}

/** From what somebody sent to what may be kept. */
export class Preparing {
  readonly #parts: PreparingParts;

  constructor(parts: PreparingParts) {
    this.#parts = parts;
  }

  /** Whatever is allowed. Throws 400 naming `file` where its bytes, its name and the settings do not agree. */
  async upload(req: Request): Promise<Prepared> {
    const { intake, pictures, types } = this.#parts;
    const file = await intake.file(req);
    const { stem, format } = await checked(file, types());
    if (!format.picture)
      return { path: file.path, name: `${stem}.${format.extensions[0]}`, type: format.type, size: file.size };
    const path = temporary(req, file);
    const { extension, ...picture } = await pictures.rewrite(file.path, path, format);
    return { path, name: `${stem}.${extension}`, ...picture };
  }

  /** A member's picture: of any kind of picture that is allowed. */
  async avatar(req: Request): Promise<Prepared> {
    const { intake, pictures, types } = this.#parts;
    const file = await intake.file(req);
    await checked(file, picturesOf(types()));
    const path = temporary(req, file);
    const { extension, ...picture } = await pictures.avatar(file.path, path);
    return { path, name: `avatar.${extension}`, ...picture };
  }
}

async function checked(
  { path, name, size }: Received,
  types: readonly string[],
): Promise<{ readonly stem: string; readonly format: Format }> {
  const { stem, extension } = fileName(name);
  const format = formatOf(extension, types);
  if (!format) throw refusal(`must end in one of: ${extensionsOf(types).join(', ')}`);
  if (size === 0) throw refusal('is empty');
  await inspect(path, format);
  return { stem, format };
}

/** Beside the file; gone with its request too, unless it was moved away. */
function temporary(req: Request, { path }: Received): string {
  const made = `${path}.new`;
  req.res?.once('close', () => void rm(made, { force: true }).catch(() => undefined));
  return made;
}
