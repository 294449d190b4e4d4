import type SharpLibrary from 'sharp';
import type { Sharp, SharpOptions } from 'sharp';
import { messageOf, type Logger } from 'parley-forum';
import type { Thumbnail, Thumbnails } from 'parley-forum/ports/pictures';
import { pictureFormat, type Format } from './formats.ts';
import { fileProblem } from './signature-check.ts';
import { SerialQueue } from './serial-queue.ts';

/** Seconds after which work on one picture is given up. */
const TIMEOUT_SECONDS = 20;
const AVATAR = 256;
/** Pixels of the copies of wide pictures: for phones, for a column of text, and for one on a dense screen. */
const COPY_WIDTHS = [480, 960, 1_440];
/** A copy is made only where it is this much narrower than the picture. */
const NARROWER = 0.8;
const QUALITY = 82;
/** Of WebP: above it files are hardly smaller, and 40 million pixels take 15 s instead of 3. */
const EFFORT = 2;

/** A smaller copy of a picture, as WebP. */
export interface PictureCopy {
  readonly path: string;
  readonly width: number;
}
/** A picture that was written anew. */
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
 * Readers of what may come in. What is found in the bytes decides, so no other reader can be reached, such as the one
 * of SVG.
 */
const READERS = ['Jpeg', 'Png', 'Nsgif', 'Webp', 'Heif'].map((name) => `VipsForeignLoad${name}`);

/** Writes pictures anew: nothing that came with them survives but what is seen. */
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
   * As the format says, turned as the camera meant it. Pictures that move go on moving. Throws 400 for what is no whole
   * picture, or too large.
   */
  rewrite(from: string, to: string, format: Format): Promise<Picture> {
    const animated = format.picture === 'gif' || format.picture === 'webp';
    return this.#make(from, to, { animated }, format.picture ?? 'png', (source) => source);
  }

  /** Narrower copies of a picture that was written anew and does not move, beside it, the smallest first. */
  async copies(from: string, { width, moves }: Pick<Picture, 'width' | 'moves'>): Promise<readonly PictureCopy[]> {
    const copies: PictureCopy[] = [];
    for (const narrower of moves ? [] : COPY_WIDTHS.filter((one) => one <= width * NARROWER)) {
      const path = `${from}.${narrower}`;
      await this.#make(from, path, {}, 'webp', (source) => source.resize({ width: narrower }));
      copies.push({ path, width: narrower });
    }
    return copies;
  }

  /** The middle as a square. */
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

  /** Measures a picture, and lets `write` have it the right way up, with how many frames it has. */
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
        // Frames cannot be turned one by one; what moves has no camera's mark.
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
      return fileProblem('takes too long to read; make it smaller, or a still picture of it');
    // What is wrong with a picture and what is wrong with the disk cannot be told apart here.
    this.#log.info({ problem: messageOf(error) }, 'a picture could not be written anew');
    return fileProblem('cannot be read as a picture; it may be damaged');
  }
}

class TooManyPixels extends Error {}

/** From the header alone, before anything is unpacked. Resolves to how many frames there are. */
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

/** With the first picture, because it takes a lot of memory that many processes never need. */
async function load(): Promise<Library> {
  const { default: sharp } = await import('sharp');
  sharp.concurrency(1);
  sharp.cache(false);
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: READERS });
  return sharp;
}
