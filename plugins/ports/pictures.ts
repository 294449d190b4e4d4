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

/** A column of a plugin's own table whose texts, or JSON, may show or link to files of members. */
export interface FileTexts {
  readonly table: string;
  readonly column: string;
}
export const fileTexts = defineExtensionPoint<FileTexts>(
  'uploads.file-texts',
  'Columns besides those of posts whose texts show or link to files: what stands in one is not removed as unused, also while the plugin is off.',
);
