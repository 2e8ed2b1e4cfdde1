// A server with a folder and a port of its own. It may be killed, suspended and started again at the same address.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve as absolute } from 'node:path';
import { createInterface } from 'node:readline';

// Binds a port and never listens: connections are refused while no server runs. SO_REUSEADDR lets the server bind the port as well, and the kernel
// gives it to no program that wants any free port.
const RESERVE = `
import socket, sys
reserved = socket.socket()
reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
reserved.bind(('127.0.0.1', 0))
print(reserved.getsockname()[1], flush=True)
sys.stdin.read()
`;

// It is started in another folder.
const PROGRAM = absolute(process.env.TIDEWHEEL);
const running = new Set();
// A test program that ends for whatever reason leaves no server.
process.on('exit', () => running.forEach((server) => server.kill('SIGKILL')));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

/** Creates a folder, unless it exists or cannot be created. */
function created(folder) {
  try {
    return folder && (mkdirSync(folder), folder);
  } catch {
    return undefined;
  }
}

export class Server {
  /** Everything that the server has printed, in all its lives. */
  output = '';
  #process;
  #reservation;
  #isExpectedToEnd = false;

  /** Starts a server with these flows, in the folder `home` if that can be created. */
  static async begin(flows, home) {
    const server = new Server();
    server.folder = created(home) ?? mkdtempSync(join(tmpdir(), 'tidewheel-page-'));
    mkdirSync(join(server.folder, 'flows'));
    for (const [name, text] of Object.entries(flows)) writeFileSync(join(server.folder, 'flows', name), text);
    server.#reservation = spawn('python3', ['-c', RESERVE], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [port] = await once(createInterface(server.#reservation.stdout), 'line');
    server.address = `127.0.0.1:${port}`;
    await server.start();
    return server;
  }

  get pid() {
    return this.#process.pid;
  }

  get hasEnded() {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Whether the server ended although no test ended it. */
  get hasFailed() {
    return this.hasEnded && !this.#isExpectedToEnd;
  }

  /** Starts the process; resolves when it has printed the link to log in. */
  start() {
    // With the default of 30 s, the order of what waits would depend on how long a test takes.
    const env = { TIDEWHEEL_SCHEDULER_STARVATION_TIMEOUT: '1h', ...process.env, HOME: this.folder, XDG_CONFIG_HOME: this.folder };
    const server = spawn(PROGRAM, ['serve', '--flows', 'flows', '--data', 'data', '--listen', this.address], { cwd: this.folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    [this.#process, this.#isExpectedToEnd] = [server, false];
    running.add(server);
    let printed = '';
    return new Promise((resolve, reject) => {
      const read = (text) => {
        printed += text;
        this.output += text;
        const link = printed.match(/\/login\?code=[0-9a-f]+/);
        if (link) resolve((this.link = link[0]));
      };
      for (const stream of [server.stdout, server.stderr]) stream.setEncoding('utf8').on('data', read);
      server.on('error', reject);
      server.on('exit', (code, signal) => {
        running.delete(server);
        this.output += `(the server ended: ${signal ?? code})\n`;
        reject(new Error(`the server ended: ${printed}`));
      });
    });
  }

  /** Ends the process at once; resolves when it has ended. */
  async kill() {
    this.#isExpectedToEnd = true;
    if (this.hasEnded) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }

  /** Requests that the server stops. It ends when its steps have ended. */
  stop() {
    this.#isExpectedToEnd = true;
    this.#process.kill('SIGTERM');
  }

  /** Suspends the process: connections stay, and nothing is answered. */
  suspend() {
    this.#process.kill('SIGSTOP');
  }

  resume() {
    this.#process.kill('SIGCONT');
  }

  /** Ends the process and removes what it left. */
  async end() {
    await this.kill();
    this.#reservation.stdin.end();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
