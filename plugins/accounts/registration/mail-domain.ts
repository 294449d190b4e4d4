import { Resolver } from 'node:dns/promises';
import { domainToASCII } from 'node:url';
import { messageOf, type Logger } from 'parley-forum';

/** Milliseconds after which a resolver is considered unreachable. */
const TIMEOUT = 3_000;
/** Error codes that mean for certain that the name or its MX record does not exist. */
const DEFINITE = new Set(['ENOTFOUND', 'ENODATA']);

export interface MxResolver {
  resolveMx(domain: string): Promise<readonly { readonly exchange: string }[]>;
  cancel(): void;
}

/**
 * False if the domain certainly accepts no mail. A resolver that fails or times out must not keep anyone from signing
 * up: the result is true, and a warning is logged.
 */
export async function acceptsMail(
  domain: string,
  {
    log,
    resolver = new Resolver({ timeout: TIMEOUT, tries: 1 }),
    timeout = TIMEOUT,
  }: { log: Logger; resolver?: MxResolver; timeout?: number },
): Promise<boolean> {
  const ascii = domainToASCII(domain);
  if (ascii === '') return false;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    resolver.cancel();
    reject(new Error(`no response within ${timeout} ms`));
  }, timeout);
  try {
    const records = await Promise.race([resolver.resolveMx(ascii), late]);
    // A single record without a name means that the domain accepts no mail (RFC 7505).
    return records.some(({ exchange }) => exchange !== '' && exchange !== '.');
  } catch (error) {
    if (DEFINITE.has((error as NodeJS.ErrnoException).code ?? '')) return false;
    log.warn({ domain: ascii, why: messageOf(error) }, 'the MX lookup failed; the registration continues');
    return true;
  } finally {
    clearTimeout(timer);
  }
}
