import { defineExtensionPoint, defineToken } from 'parley-forum';

/** A small picture that was made here, and so is safe to be sent from here. */
export interface Thumbnail {
  /** WebP. */
  readonly bytes: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** Makes small pictures of what came from elsewhere. */
export interface Thumbnails {
  /**
   * The middle of a picture as a square of at most `side` pixels, without anything that came with it. Throws 400 for
   * what is no whole picture of a known kind, or too large, and 503 when too many are on their way.
   */
  square(picture: Uint8Array, side: number): Promise<Thumbnail>;
}
export const Thumbnails = defineToken<Thumbnails>('Thumbnails');

/** Texts besides posts that show or link to files of members, such as those that wait for a moderator. */
export interface FileTexts {
  /** Those of the paths, of which each is the beginning of a file's, that stand in one of the texts. */
  containing(paths: readonly string[]): Promise<ReadonlySet<string>>;
}
export const fileTexts = defineExtensionPoint<FileTexts>(
  'uploads.file-texts',
  'Texts besides posts that show or link to files: what stands in one is not removed as unused.',
);
