/** Structured log lines with UTC timestamps. Implementations redact fields that carry secrets before writing. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger that adds `fields` to every line. */
  child(fields: object): Logger;
}
