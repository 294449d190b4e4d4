/** A type of file, determined by its content rather than its name. */
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
 * All types that can be allowed. Deliberately excluded are types that browsers execute or that load other resources:
 * SVG, HTML, XML, scripts, programs. AVIF is converted to WebP, because encoding it takes many times as long.
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

/** `undefined` if no allowed kind has this extension. */
export function formatOf(extension: string, allowed: readonly string[]): Format | undefined {
  const kind = KINDS.find(
    (one) => allowed.includes(one) && (FORMATS[one].extensions as readonly string[]).includes(extension),
  );
  return kind && FORMATS[kind];
}

export const pictureFormat = (picture: NonNullable<Format['picture']>): Format => FORMATS[picture];

/** Every allowed extension, for messages and for the file chooser. */
export const extensionsOf = (allowed: readonly string[]): readonly string[] =>
  KINDS.filter((kind) => allowed.includes(kind)).flatMap((kind) => FORMATS[kind].extensions);

/** The allowed kinds that are pictures. */
export const picturesOf = (allowed: readonly string[]): readonly string[] =>
  KINDS.filter((kind) => 'picture' in FORMATS[kind] && allowed.includes(kind));
