/** What a kind of file is, beyond its name. */
export interface Format {
  /** The content type it is served with. */
  readonly type: string;
  /** Its extensions; stored files get the first one. */
  readonly extensions: readonly [string, ...string[]];
  /** Shown inline, after it was re-encoded as this type. All others are only offered as downloads. */
  readonly picture?: 'jpg' | 'png' | 'gif' | 'webp';
  /** Has no file signature, so it must contain nothing but text. */
  readonly text?: boolean;
}

const ooxml = 'application/vnd.openxmlformats-officedocument';
const open = 'application/vnd.oasis.opendocument';

/**
 * All that may be allowed. Left out for good is what browsers run or what loads something else: SVG, HTML, XML,
 * scripts, programs. AVIF becomes WebP, because writing it takes many times as long.
 */
const FORMATS = {
  png: { type: 'image/png', extensions: ['png'], picture: 'png' },
  jpg: { type: 'image/jpeg', extensions: ['jpg', 'jpeg'], picture: 'jpg' },
  gif: { type: 'image/gif', extensions: ['gif'], picture: 'gif' },
  webp: { type: 'image/webp', extensions: ['webp'], picture: 'webp' },
  avif: { type: 'image/avif', extensions: ['avif'], picture: 'webp' },
  pdf: { type: 'application/pdf', extensions: ['pdf'] },
  zip: { type: 'application/zip', extensions: ['zip'] },
  txt: { type: 'text/plain', extensions: ['txt'], text: true },
  md: { type: 'text/plain', extensions: ['md'], text: true },
  csv: { type: 'text/csv', extensions: ['csv'], text: true },
  docx: { type: `${ooxml}.wordprocessingml.document`, extensions: ['docx'] },
  xlsx: { type: `${ooxml}.spreadsheetml.sheet`, extensions: ['xlsx'] },
  pptx: { type: `${ooxml}.presentationml.presentation`, extensions: ['pptx'] },
  odt: { type: `${open}.text`, extensions: ['odt'] },
  ods: { type: `${open}.spreadsheet`, extensions: ['ods'] },
  odp: { type: `${open}.presentation`, extensions: ['odp'] },
  mp3: { type: 'audio/mpeg', extensions: ['mp3'] },
  mp4: { type: 'video/mp4', extensions: ['mp4'] },
  webm: { type: 'video/webm', extensions: ['webm'] },
} as const satisfies Readonly<Record<string, Format>>;

export type Kind = keyof typeof FORMATS;
export const KINDS = Object.keys(FORMATS) as Kind[];

/** `undefined` where no kind that is allowed ends so. */
export function formatOf(extension: string, allowed: readonly string[]): Format | undefined {
  const kind = KINDS.find(
    (one) => allowed.includes(one) && (FORMATS[one].extensions as readonly string[]).includes(extension),
  );
  return kind && FORMATS[kind];
}

export const pictureFormat = (picture: NonNullable<Format['picture']>): Format => FORMATS[picture];

/** Every allowed extension, for messages and for the dialogue in which a file is chosen. */
export const extensionsOf = (allowed: readonly string[]): readonly string[] =>
  KINDS.filter((kind) => allowed.includes(kind)).flatMap((kind) => FORMATS[kind].extensions);

/** The kinds that are pictures, of those that are allowed. */
export const picturesOf = (allowed: readonly string[]): readonly string[] =>
  KINDS.filter((kind) => 'picture' in FORMATS[kind] && allowed.includes(kind));
