import { Secret, TOTP } from 'otpauth';

/** The parameters every authenticator app supports; some silently ignore others (RFC 6238). */
const ALGORITHM = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** The number of time steps a clock may be off, in either direction. */
const WINDOW = 1;
/** 160 bits, as recommended by RFC 4226. */
const SECRET_BYTES = 20;

/** Base32, as people type it. */
export const newSecret = (): string => new Secret({ size: SECRET_BYTES }).base32;

/** The URI that the QR code encodes for authenticator apps. */
export const enrolmentUri = ({
  secret,
  site,
  username,
}: {
  readonly secret: string;
  readonly site: string;
  readonly username: string;
}): string => new TOTP({ ...ALGORITHM, issuer: site, label: username, secret: Secret.fromBase32(secret) }).toString();

/** The time step that `code` belongs to; undefined if it is not valid at `now`, in epoch milliseconds. */
export function counterOf(code: string, secret: string, now: number): number | undefined {
  const delta = TOTP.validate({
    ...ALGORITHM,
    token: code,
    secret: Secret.fromBase32(secret),
    timestamp: now,
    window: WINDOW,
  });
  return delta === null ? undefined : TOTP.counter({ period: ALGORITHM.period, timestamp: now }) + delta;
}
