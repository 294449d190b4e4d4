import { defineExtensionPoint, defineToken, sql, type Data } from 'parley-forum';

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

/** A column of a plugin's own table. */
export interface TextColumn {
  readonly table: string;
  readonly name: string;
}

/** Texts besides posts that show or link to files of members, such as those that wait for a moderator. */
export interface FileTexts {
  /** Those of the paths, of which each is the beginning of a file's, that stand in one of the texts. */
  containing(paths: readonly string[]): Promise<ReadonlySet<string>>;
  /** Where they are stored: what stands there counts while the plugin is off, too. */
  readonly column?: TextColumn;
}
export const fileTexts = defineExtensionPoint<FileTexts>(
  'uploads.file-texts',
  'Texts besides posts that show or link to files: what stands in one is not removed as unused.',
);

/** Where all files of members lie. */
export const FILES_PATH = '/uploads/';

export const fileTextsIn = (data: Data, column: TextColumn): FileTexts => ({
  column,
  async containing(paths) {
    // Most texts have no file at all: read once, those that have are compared with each path.
    const rows = await data.all(sql<{ path: string }>`
      with texts as materialized (
        select text from (select ${sql.ref(column.name)}::text as text from ${sql.table(column.table)}) own
        where position(${FILES_PATH} in text) > 0
      )
      select path from unnest(${paths}::text[]) as given (path)
      where exists (select from texts where position(given.path in texts.text) > 0)`);
    return new Set(rows.map(({ path }) => path));
  },
});

/** `texts`: values that are in memory, such as settings. */
export const fileTextsOf = (texts: () => readonly string[]): FileTexts => ({
  containing: (paths) => Promise.resolve(new Set(paths.filter((path) => texts().some((text) => text.includes(path))))),
});
