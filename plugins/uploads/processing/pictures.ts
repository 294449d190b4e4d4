import type SharpLibrary from 'sharp';
import type { Sharp, SharpOptions } from 'sharp';
import { messageOf, type Logger } from 'parley-forum';
import type { Thumbnail, Thumbnails } from 'parley-forum/ports/pictures';
import { pictureFormat, type Format } from './formats.ts';
import { fileProblem } from './signature-check.ts';
import { SerialQueue } from './serial-queue.ts';

/** Seconds after which processing a picture is aborted. */
const TIMEOUT_SECONDS = 20;
const AVATAR = 256;
/**
 * Widths in pixels of the copies of wide pictures: for phones, for a text column, and for one on a high-density screen.
 */
const COPY_WIDTHS = [480, 960, 1_440];
/** A copy is made only if it is at most this fraction of the picture's width. */
const NARROWER = 0.8;
const QUALITY = 82;
/** WebP effort: higher values hardly shrink files, and 40 million pixels take 15 s instead of 3. */
const EFFORT = 2;

/** A smaller copy of a picture, as WebP. */
export interface PictureCopy {
  readonly path: string;
  readonly width: number;
}
/** A picture that was re-encoded. */
export interface Picture {
  readonly type: string;
  readonly extension: string;
  readonly size: number;
  readonly width: number;
  /** Of one frame. */
  readonly height: number;
  readonly moves: boolean;
}
type Rewrite = (source: Sharp) => Sharp;
type Library = typeof SharpLibrary;

/**
 * The decoders that may be used. sharp selects them by the content of the file, so all others must be blocked, such as
 * the one for SVG.
 */
const READERS = ['Jpeg', 'Png', 'Nsgif', 'Webp', 'Heif'].map((name) => `VipsForeignLoad${name}`);

/** Re-encodes pictures, so that nothing survives of the original but what is visible. */
export class Pictures implements Thumbnails {
  readonly #maxPixels: () => number;
  readonly #log: Logger;
  readonly #queue = new SerialQueue();
  #library: Promise<Library> | undefined;

  constructor({ maxPixels, log }: { readonly maxPixels: () => number; readonly log: Logger }) {
    this.#maxPixels = maxPixels;
    this.#log = log;
  }

  /**
   * Re-encodes a picture in the given format, rotated as the camera recorded. Animations are kept. Throws 400 for a
   * file that is not a complete picture, or too large.
   */
  rewrite(from: string, to: string, format: Format): Promise<Picture> {
    const animated = format.picture === 'gif' || format.picture === 'webp';
    return this.#make(from, to, { animated }, format.picture ?? 'png', (source) => source);
  }

  /** Creates narrower copies of a re-encoded picture that is not animated, in the same folder, the smallest first. */
  async copies(from: string, { width, moves }: Pick<Picture, 'width' | 'moves'>): Promise<readonly PictureCopy[]> {
    const copies: PictureCopy[] = [];
    for (const narrower of moves ? [] : COPY_WIDTHS.filter((one) => one <= width * NARROWER)) {
      const path = `${from}.${narrower}`;
      await this.#make(from, path, {}, 'webp', (source) => source.resize({ width: narrower }));
      copies.push({ path, width: narrower });
    }
    return copies;
  }

  /** The centre of the picture as a square. */
  avatar(from: string, to: string): Promise<Picture> {
    return this.#make(from, to, {}, 'webp', (source) => source.resize(AVATAR, AVATAR, { fit: 'cover' }));
  }

  square(picture: Uint8Array, side: number): Promise<Thumbnail> {
    return this.#read(picture, {}, async (source) => {
      const square = source.resize(side, side, { fit: 'cover', withoutEnlargement: true });
      const { data, info } = await written(square, 'webp').toBuffer({ resolveWithObject: true });
      return { bytes: data, width: info.width, height: info.height };
    });
  }

  #make(
    from: string,
    to: string,
    options: SharpOptions,
    picture: NonNullable<Format['picture']>,
    change: Rewrite,
  ): Promise<Picture> {
    return this.#read(from, options, async (source, frames) => {
      const { size, width, height, pageHeight } = await written(change(source), picture).toFile(to);
      const { type, extensions } = pictureFormat(picture);
      return { type, extension: extensions[0], size, width, height: pageHeight ?? height, moves: frames > 1 };
    });
  }

  /** Checks a picture's size and passes it to `write`, rotated upright, with its number of frames. */
  #read<T>(
    from: string | Uint8Array,
    options: SharpOptions,
    write: (source: Sharp, frames: number) => Promise<T>,
  ): Promise<T> {
    return this.#queue.run(async () => {
      const sharp = await (this.#library ??= load());
      const most = this.#maxPixels();
      try {
        const frames = await measure(sharp(from, { ...options, limitInputPixels: false }), most);
        const source = sharp(from, { ...options, limitInputPixels: most, failOn: 'error' }).timeout({
          seconds: TIMEOUT_SECONDS,
        });
        // Frames cannot be rotated individually; animations have no camera orientation.
        return await write(frames > 1 ? source : source.autoOrient(), frames);
      } catch (error) {
        throw this.#refused(error, most);
      }
    });
  }

  #refused(error: unknown, most: number): Error {
    if (error instanceof TooManyPixels)
      return fileProblem(`has more than ${most / 1e6} million pixels; make it smaller`);
    if (messageOf(error).startsWith('timeout'))
      return fileProblem('takes too long to process; make it smaller, or use a still picture');
    // A damaged picture and a failing disk cannot be distinguished here.
    this.#log.info({ problem: messageOf(error) }, 'a picture could not be re-encoded');
    return fileProblem('cannot be read as a picture; it may be damaged');
  }
}

class TooManyPixels extends Error {}

/** Reads only the header, before anything is decoded. Resolves to the number of frames. */
async function measure(source: Sharp, most: number): Promise<number> {
  const { width = 0, height = 0, pageHeight = height, pages = 1 } = await source.metadata();
  if (width * pageHeight * pages > most) throw new TooManyPixels();
  return pages;
}

function written(source: Sharp, picture: NonNullable<Format['picture']>): Sharp {
  switch (picture) {
    case 'jpg':
      return source.jpeg({ quality: QUALITY });
    case 'png':
      return source.png();
    case 'gif':
      return source.gif();
    case 'webp':
      return source.webp({ quality: QUALITY, effort: EFFORT });
  }
}

/** Loaded with the first picture, because it takes a lot of memory that many processes never need. */
async function load(): Promise<Library> {
  const { default: sharp } = await import('sharp');
  sharp.concurrency(1);
  sharp.cache(false);
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: READERS });
  return sharp;
}
