// The C library of sb from Node.js, by the package koffi.
//
//     const sb = new Library(config);
//     const user = sb.call('sb_add_user', [{ first_name: 'Ann' }]);
//
// A call keeps the event loop waiting until the database has answered: use it in a worker where that matters. A Library
// belongs to one thread.

import koffi from 'koffi';

/** An error of the library: its code is stable, such as security-error. */
export class SBError extends Error {
  constructor({ code, function: name, message }) {
    super(`${name}: ${message} (${code})`);
    this.code = code;
    this.function = name;
  }
}

/** An installation, and the connection to its database. */
export class Library {
  #functions;
  #handle;

  constructor(config, path = 'libsb.so') {
    const library = koffi.load(path);
    const free = library.func('sb_free', 'void', ['void *']);
    // Read as a text, then freed.
    const answer = koffi.disposable('str', free);
    this.#functions = {
      open: library.func('sb_open', 'void *', ['str', 'size_t']),
      call: library.func('sb_call', answer, ['void *', 'str', 'str', 'size_t']),
      close: library.func('sb_close', 'void', ['void *']),
      version: library.func('sb_version', 'str', []),
    };
    const text = JSON.stringify(config);
    this.#handle = this.#functions.open(text, Buffer.byteLength(text));
    if (!this.#handle) throw new TypeError('the configuration is no map');
  }

  get version() {
    return this.#functions.version();
  }

  /** Calls a function with arguments by position, a list, or by name, an object. */
  call(name, given = []) {
    if (!this.#handle) throw new Error('the library is closed');
    const text = JSON.stringify(given);
    const answer = JSON.parse(this.#functions.call(this.#handle, name, text, Buffer.byteLength(text)));
    if (answer.error) throw new SBError(answer.error);
    return answer.ok;
  }

  close() {
    this.#functions.close(this.#handle);
    this.#handle = null;
  }
}
