export const B='http://localhost:4102';
export class C{constructor(){this.c=new Map()}
 async r(m,p,{body,json,headers={}}={}){const h={...headers};if(this.c.size)h.cookie=[...this.c].map(([k,v])=>k+'='+v).join('; ');
 let b; if(json!==undefined){h['content-type']='application/json';b=JSON.stringify(json);h['x-csrf-token']=this.t??'';h.accept='application/json'} if(body){h['content-type']='application/x-www-form-urlencoded';b=new URLSearchParams({...body,_csrf:this.t}).toString()}
 if(m==='DELETE'){h['x-csrf-token']=this.t}
 const a=await fetch(B+p,{method:m,headers:h,body:b,redirect:'manual'});for(const s of a.headers.getSetCookie()){const [kv]=s.split(';');const i=kv.indexOf('=');const v=kv.slice(i+1);if(v)this.c.set(kv.slice(0,i),v);else this.c.delete(kv.slice(0,i))}
 const t=await a.text();let j;try{j=JSON.parse(t)}catch{};const x=/name="_csrf" value="([^"]+)"/.exec(t);if(x)this.t=x[1];return{s:a.status,t,j,h:a.headers}}
 async login(u,p){await this.r('GET','/login');const a=await this.r('POST','/login',{body:{identifier:u,password:p}});await this.r('GET','/settings/profile');return a.s}}
